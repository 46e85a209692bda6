"""Special methods of the program's own classes, and iteration by means of them."""

from __future__ import annotations

from typing import TypeVar

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.values.base import Arguments, Unknown, Value
from gpulint.analysis.domain.values.functions import Bound
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site

T = TypeVar("T")


def call_special(machine: Machine, value: Value, name: str, given: tuple[Value, ...], site: Site) -> Value | None:
    """Result of a special method of an object; None if no class of the program defines it for that object."""
    found = value.cls.find(name) if isinstance(value, Object) and value.cls is not None else None
    return machine.call(Bound(value, found[0]), Arguments(given), site) if found else None


def iter_of(machine: Machine, value: Value, site: Site) -> Value:
    """The iterator over a value: the result of `__iter__` for an object that has it, else the value itself."""
    made = call_special(machine, value, "__iter__", (), site)
    return value if made is None else machine.choose(made)


def next_of(machine: Machine, value: Value, site: Site, otherwise: T) -> Value | T:
    """Next element of an iterator, or of a sequence, of a class of the program; `otherwise` for any other value."""
    if not isinstance(value, Object):
        return otherwise
    made = call_special(machine, value, "__next__", (), site)
    if made is None:
        made = call_special(machine, value, "__getitem__", (Unknown(("index", value.symbol, site)),), site)
    return otherwise if made is None else machine.choose(made)
