"""How objects of the program's own classes are gone over: `__iter__`, `__next__`, `__getitem__`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulint.analysis.values import Arguments, Bound, Object, Unknown, Value
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter


def iterated(interp: Interpreter, value: Value, site: Site) -> Value:
    """What iteration over a value goes over: of an object with `__iter__` what that gives."""
    if isinstance(value, Object) and value.cls is not None and (found := value.cls.find("__iter__")):
        return interp.choose(interp.call(Bound(value, found[0]), Arguments(), site))
    return value


def following(interp: Interpreter, value: Value, site: Site) -> Value | None:
    """The next element of an iterator, or of a sequence, of a class of the program; None for anything else."""
    if not isinstance(value, Object) or value.cls is None:
        return None
    if found := value.cls.find("__next__"):
        return interp.choose(interp.call(Bound(value, found[0]), Arguments(), site))
    if found := value.cls.find("__getitem__"):
        index = Unknown(("index", value.symbol, site))
        return interp.choose(interp.call(Bound(value, found[0]), Arguments((index,)), site))
    return None
