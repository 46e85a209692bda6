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
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import gpulint.rules
import pytest

import gpulint.analysis
from gpulint.analysis import Project, analyse
from gpulint.analysis.domain.path_conditions import Condition, literal_of
from gpulint.analysis.domain.values.base import Arguments, Constant, Unknown, Value, symbol_of
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.libraries import Libraries
from gpulint.places import Site
from gpulint.sources.source import Source
from tests.analysis import doubling

SECONDS = 2.0
"""Limit of processor time for all functions, called with one value. Each takes a fraction of a millisecond."""

VALUES = ("[1, 2]", "other.thing()", "tf.zeros((3, 3))", "np.zeros((3, 3))", "len(other.thing())")
"""What is doubled: known elements, an unknown value, a tensor, an array, a whole number. A recursion that ends at the
first part that is of another kind takes exponential time only on its own kind."""


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
    """A function to call, by the kinds of its arguments, which are those of `given`."""

    function: Callable[..., Any]
    kinds: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}"


_KINDS = {
    "Any": "Symbol",
    "Hashable": "Symbol",
    "Literal": "Literal",
    "Machine": "Machine",
    "Path": "Path",
    "Site": "Site",
    "Symbol": "Symbol",
    "Value": "Value",
    "Value | None": "Value",
    "bool": "bool",
    "int": "int",
    "object": "Symbol",
    "tuple[Any, ...]": "parts",
    "values.Value": "Value",
}

_DOUBLED = {"Literal", "Path", "Symbol", "Value", "parts"}
"""Kinds of the arguments that contain what was doubled."""

_OF_SYMBOLS = {"Any", "Hashable", "Literal", "Path", "Symbol", "object", "tuple[Any, ...]"}
"""Annotations of what can be, or contain, a symbol."""


def given(machine: Machine, value: Value, site: Site) -> dict[str, object]:
    """An argument of each kind, for a value that was doubled."""
    symbol = symbol_of(value)
    literal = literal_of(Condition("==", symbol, 1), True)
    return {
        "Literal": literal,
        "Machine": machine,
        "Path": frozenset({literal}),
        "Site": site,
        "Symbol": symbol,
        "Value": value,
        "bool": True,
        "int": 2,
        "parts": symbol.parts,
    }


def queries() -> Iterator[Query]:
    """All functions of the analysis and of the rules that require what can be doubled, and nothing that `_KINDS`
    lacks."""
    for module in _modules():
        for one in vars(module).values():
            function = _function_of(one, module.__name__)
            if function and (kinds := _kinds(function)) and not _DOUBLED.isdisjoint(kinds):
                yield Query(one, kinds)


def _modules() -> Iterator[ModuleType]:
    for package in (gpulint.analysis, gpulint.rules):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(module.name)


def _function_of(value: object, module: str) -> Callable[..., Any] | None:
    """The function that a module defines, behind its decorators."""
    function = inspect.unwrap(value) if callable(value) else None
    return function if inspect.isfunction(function) and function.__module__ == module else None


def _names_in(code: CodeType) -> set[str]:
    """Names that a function reads, in its comprehensions, too."""
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


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


interpreted = pytest.mark.skipif(not inspect.isfunction(symbol_of), reason="compiled functions have no annotations")


@interpreted
def test_there_are_many_queries() -> None:
    assert len(QUERIES) > 250
    assert {one.kinds for one in QUERIES} >= {("Value",), ("Symbol",), ("Value", "Value"), ("Machine", "Value", "Site")}


@interpreted
def test_each_helper_that_recurs_over_symbols_is_called() -> None:
    """A recursion over a symbol without a memo takes exponential time."""
    called = {inspect.unwrap(one.function) for one in QUERIES}
    missed = {f"{one.__module__}.{one.__qualname__}" for one in _recurring() if one not in called}
    assert missed == REACHED_THROUGH_OTHERS


REACHED_THROUGH_OTHERS = {
    "gpulint.analysis.domain.changing_numbers._sites",
    "gpulint.analysis.domain.path_conditions._leaves_one",
    "gpulint.analysis.queries.training_loops._is_for_few",
}
"""Helpers that recur over symbols with a memo, and require arguments that only their callers have."""


def _recurring() -> Iterator[Callable[..., Any]]:
    """Functions that get a symbol, what it consists of or a condition on it, and call themselves, directly or through
    others of their module."""
    for module in _modules():
        functions = {name: one for name, value in vars(module).items() if (one := _function_of(value, module.__name__))}
        reached = {name: _names_in(one.__code__).intersection(functions) for name, one in functions.items()}
        for _ in functions:
            grown = {name: names.union(*map(reached.__getitem__, names)) for name, names in reached.items()}
            if grown == reached:
                break
            reached = grown
        for name, function in functions.items():
            annotations = {str(one.annotation) for one in inspect.signature(function).parameters.values()}
            if name in reached[name] and not annotations.isdisjoint(_OF_SYMBOLS):
                yield function


@pytest.mark.skipif(not hasattr(signal, "SIGVTALRM"), reason="the system has no timer of processor time")
@pytest.mark.parametrize("row", doubling.parts("rows"))
def test_each_query_is_quick(row: str) -> None:
    asked: list[Value] = []
    slow: set[str] = set()

    def ask(machine: Machine, value: Value, site: Site) -> None:
        asked.append(value)
        arguments = given(machine, value, site)
        query = None
        try:
            with limited():
                for query in QUERIES:
                    with suppress(Exception):  # a helper may require a symbol of a certain form
                        query.function(*map(arguments.__getitem__, query.kinds))
        except TooSlow:
            assert query is not None
            slow.add(query.name)

    text = doubling.program_asking(VALUES, row)
    source = Source("program.py", text.encode(), text, "utf-8")
    analyse(source, Project([], lambda path: None), "2.21", libraries=lambda machine: Asking(machine, ask)).release()
    assert len(asked) == len(VALUES)
    assert slow == set()
