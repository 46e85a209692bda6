"""What eager code reads from tensors, and what the host does with it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpulint.analysis import events
from gpulint.analysis.names import words
from gpulint.analysis.symbols import Symbol
from gpulint.analysis.values import Arguments, Tensor, Unknown, Value, symbol_of
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

READ = "host read"
"""The head of the symbol of what was read from a tensor."""

READS = frozenset({"float", "int", "bool", "numpy", "print", "format"})
"""Ways to look at a tensor for which the host waits."""

_NOTED_BY = frozenset(
    {"add", "append", "average", "collect", "extend", "mean", "push", "put", "round", "sum", "update"}
)
"""Names of functions that only add what they are given to something, or make one number of it."""

_LOGGING = frozenset(
    {
        *("audit", "critical", "debug", "description", "display", "draw", "dump", "echo", "emit", "error", "format"),
        *("history", "info", "isfinite", "isinf", "isnan", "log", "logger", "metric", "metrics", "monitor", "note"),
        *("plot", "postfix", "print", "progress", "record", "report", "result", "save", "scalar", "show", "smooth"),
        *("summary", "track", "verbose", "warn", "warning", "write", "writerow"),
    }
)
"""Words in the names of functions that only note down what they are given."""


def _notes_down(name: str) -> bool:
    """Whether a function only notes down what it is given, by its name: `log_loss` and `mean` do, `update_priorities`
    and `linear_sum_assignment` do not."""
    return name in _NOTED_BY or not words(name).isdisjoint(_LOGGING)


def read(interp: Interpreter, tensor: Tensor, how: str, site: Site) -> None:
    """The program looks at the content of a tensor."""
    context = interp.context
    if how not in READS or tensor.from_data or tensor.shape_of or tensor.on_host:
        return
    if context.loops and not context.may_be_traced:
        interp.emit(events.TensorRead(site, interp.where(), tensor, how))


def fetched(site: Site, how: str) -> Value:
    """What was read from a tensor at `site`: a Python number or a NumPy array."""
    return Unknown((READ, site, how))


@lru_cache(maxsize=8192)
def reads_in(symbol: Symbol) -> tuple[Site, ...]:
    """Where the tensors were read of which a value was computed on the host."""
    if symbol.parts[0] == READ:
        return (symbol.parts[1],)
    return tuple(dict.fromkeys(_reads_among(symbol.parts))) if READ in symbol.words else ()


def _reads_among(parts: tuple[Any, ...]) -> Iterator[Site]:
    for part in parts:
        if isinstance(part, Symbol):
            yield from reads_in(part)
        elif isinstance(part, tuple) and not isinstance(part, Site):
            yield from _reads_among(part)


def passed(interp: Interpreter, name: str, arguments: Arguments, site: Site) -> None:
    """Host values go to a function or method of that name."""
    if not interp.context.loops:
        return
    found = [place for value in arguments.all() if type(value) is Unknown for place in reads_in(value.symbol)]
    if found and not _notes_down(name):
        interp.emit(events.HostValueUsed(site, interp.where(), tuple(found), name))


def used(interp: Interpreter, value: Value, site: Site) -> None:
    """A value decides what the host does next (an index, whether a loop goes on)."""
    if type(value) is Unknown and interp.context.loops and (found := reads_in(value.symbol)):
        interp.emit(events.HostValueUsed(site, interp.where(), found, ""))


def symbols(arguments: Arguments, site: Site) -> tuple[Symbol, ...]:
    """The symbols of what a host function is given: tensors are read by it, at `site`."""
    return tuple(
        Symbol((READ, site, "numpy")) if isinstance(value, Tensor) and not value.from_data else symbol_of(value)
        for value in arguments.all()
    )
