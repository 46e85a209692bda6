"""Each function that reads a value is quick, also for a value that thirty rows doubled, in any way.

The functions are found by their annotations, so a new one is called, too. `test_doubling.py` runs whole programs, in
which calls and rules read such values.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import gpulint.rules
import pytest

import gpulint.analysis
from gpulint.analysis import Project, analyse
from gpulint.analysis.domain.path_conditions import EVERYWHERE
from gpulint.analysis.domain.values.base import Arguments, Constant, Unknown, Value, symbol_of
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.libraries import Libraries
from gpulint.places import Site
from gpulint.sources.source import Source
from tests.analysis import doubling

SECONDS = 2.0
"""Limit of processor time for all functions, called with one value. Each takes a fraction of a millisecond."""

VALUES = ("[1, 2]", "other.thing()", "tf.zeros((3, 3))", "np.zeros((3, 3))")
"""What is doubled: known elements, an unknown value, a tensor, an array."""


class TooSlow(BaseException):
    """Raised when the limit is reached. Nothing that is tested catches it."""


@contextmanager
def limited() -> Iterator[None]:
    """Limit the processor time of a block."""

    def stop(signum: int, frame: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Query(NamedTuple):
    """A function to call, by the kinds of its arguments: "Value", "Symbol", "Path", "Machine" or "Site"."""

    function: Callable[..., Any]
    kinds: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}"


_KINDS = {
    "Value": "Value",
    "values.Value": "Value",
    "Value | None": "Value",
    "Symbol": "Symbol",
    "Hashable": "Symbol",
    "object": "Symbol",
    "Path": "Path",
    "Machine": "Machine",
    "Site": "Site",
}


def queries() -> Iterator[Query]:
    """All functions of the analysis and of the rules that require values, symbols, and nothing that `_KINDS` lacks."""
    for package in (gpulint.analysis, gpulint.rules):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for one in vars(importlib.import_module(module.name)).values():
                function = inspect.unwrap(one) if callable(one) else None
                if not inspect.isfunction(function) or function.__module__ != module.name:
                    continue
                if (kinds := _kinds(function)) and not {"Value", "Symbol"}.isdisjoint(kinds):
                    yield Query(one, kinds)


def _kinds(function: Callable[..., Any]) -> tuple[str, ...]:
    """Kinds of the arguments that a function requires; none if one of them is of another kind."""
    required = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    kinds = tuple(_KINDS.get(str(one.annotation), "") for one in required if one.kind is not one.VAR_POSITIONAL)
    return kinds if all(kinds) else ()


class Asking(Libraries):
    """The libraries, which call all queries with what the program passes to `ask`."""

    def __init__(self, machine: Machine, asked: Callable[[Machine, Value, Site], None]) -> None:
        super().__init__(machine)
        self._asked = asked

    def call_value(self, function: Value, arguments: Arguments, site: Site) -> Value:
        if type(function) is Unknown and symbol_of(function).parts[-1] == "ask":
            self._asked(self._machine, arguments.positional[0], site)
            return Constant(None)
        return super().call_value(function, arguments, site)


QUERIES = tuple(queries())


def test_there_are_many_queries() -> None:
    assert len(QUERIES) > 150
    assert {one.kinds for one in QUERIES} >= {("Value",), ("Symbol",), ("Value", "Value"), ("Machine", "Value", "Site")}


@pytest.mark.skipif(not hasattr(signal, "SIGVTALRM"), reason="the system has no timer of processor time")
@pytest.mark.parametrize("row", doubling.parts("rows"))
def test_each_query_is_quick(row: str) -> None:
    asked: list[Value] = []
    slow: set[str] = set()

    def ask(machine: Machine, value: Value, site: Site) -> None:
        asked.append(value)
        given = {"Value": value, "Symbol": symbol_of(value), "Path": EVERYWHERE, "Machine": machine, "Site": site}
        query = None
        try:
            with limited():
                for query in QUERIES:
                    with suppress(Exception):  # a helper may require a symbol of a certain form
                        query.function(*map(given.__getitem__, query.kinds))
        except TooSlow:
            assert query is not None
            slow.add(query.name)

    text = doubling.program_asking(VALUES, row)
    source = Source("program.py", text.encode(), text, "utf-8")
    analyse(source, Project([], lambda path: None), "2.21", libraries=lambda machine: Asking(machine, ask)).release()
    assert len(asked) == len(VALUES)
    assert slow == set()
