"""Special methods that the program's own classes have, and how their objects are gone over by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from gpulint.analysis.values import Arguments, Bound, Object, Unknown, Value
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

T = TypeVar("T")


def own(interp: Interpreter, value: Value, name: str, given: tuple[Value, ...], site: Site) -> Value | None:
    """What a special method of an object gives; None where no class of the program has it for that object."""
    found = value.cls.find(name) if isinstance(value, Object) and value.cls is not None else None
    return interp.call(Bound(value, found[0]), Arguments(given), site) if found else None


def iterated(interp: Interpreter, value: Value, site: Site) -> Value:
    """What iteration over a value goes over: of an object with `__iter__` what that gives."""
    made = own(interp, value, "__iter__", (), site)
    return value if made is None else interp.choose(made)


def following(interp: Interpreter, value: Value, site: Site, otherwise: T) -> Value | T:
    """The next element of an iterator, or of a sequence, of a class of the program; `otherwise` of anything else."""
    if not isinstance(value, Object):
        return otherwise
    made = own(interp, value, "__next__", (), site)
    if made is None:
        made = own(interp, value, "__getitem__", (Unknown(("index", value.symbol, site)),), site)
    return otherwise if made is None else interp.choose(made)
