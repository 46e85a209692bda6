"""Python numbers that change with the iterations of a loop, read off their symbols."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gpulint.analysis.domain.context import Loop
from gpulint.analysis.domain.symbolic import COUNTER, HOST_READ, Symbol, called_with, library_callee
from gpulint.analysis.domain.values.base import Unknown, Value
from gpulint.places import Site

_NUMERIC = frozenset({"min", "max", "abs", "round", "pow", "float", "int"})
"""Built-in functions that return a Python number for Python numbers."""


MAX_CHOICES = 16
"""Maximum number of values of `i % n` for which calls with it count as having a bounded set of arguments."""


def changing_in(value: Value, loops: Sequence[Loop]) -> Loop | None:
    """The innermost of nested loops in each iteration of which a value is another Python number. None if it is not
    known to change."""
    if type(value) is not Unknown or not is_changing(value.symbol):
        return None
    if counters := _sites(value.symbol, frozenset({COUNTER})):
        return None if counters.isdisjoint(loops[-1].counters) else loops[-1]
    around = [_loop_of(one, loops) for one in _sites(value.symbol, frozenset({"index", "item"}))]
    return max((loop for loop in around if loop is not None), key=loops.index, default=loops[-1])


def _loop_of(element: Site, loops: Sequence[Loop]) -> Loop | None:
    """The loop over the elements of the expression at a site: the last one that begins before it in the file."""
    before = [loop for loop in loops if loop.site.path == element.path and loop.site.node < element.node]
    return max(before, key=lambda loop: loop.site.node, default=None)


@lru_cache(maxsize=8192)
def _sites(name: Any, kinds: frozenset[str]) -> frozenset[Site]:
    """Sites of the parts of a symbol that are of these kinds: where a counter is incremented, or what is iterated."""
    if isinstance(name, Symbol):
        site = name.parts[2] if name.parts[0] in kinds and len(name.parts) > 2 else None
        return frozenset({site}) if isinstance(site, Site) else _sites(name.parts, kinds)
    return frozenset().union(*(_sites(part, kinds) for part in name)) if type(name) is tuple else frozenset()


@lru_cache(maxsize=8192)
def is_changing(name: Any) -> bool:
    """Whether a symbol is a Python number computed from a counter, an index or an element of a `range`."""
    if not isinstance(name, Symbol):
        return False
    head, *rest = name.parts
    if head == "in_iteration":
        return is_changing(rest[1])
    if head in ("index", COUNTER):
        return True
    if head == "item":
        return isinstance(rest[0], Symbol) and rest[0].parts[0] == "range"
    if head == "binary":
        sign, left, right = rest
        if sign == "%":
            return is_changing(left) and not _is_small(right)
        return (is_changing(left) and _is_number(right)) or (is_changing(right) and _is_number(left))
    if head == "unary":
        return is_changing(rest[1])
    if head in ("int", "float"):
        made_of = rest[0]
        return isinstance(made_of, Symbol) and (
            made_of.parts[0] == HOST_READ or is_changing(made_of) or "iterations" in made_of.words
        )
    if head == HOST_READ:
        return rest[1] in ("int", "float")
    if head == "call":
        called, given = called_with(name)
        is_python = called in _NUMERIC or library_callee(name).startswith("math.")
        return is_python and any(is_changing(part) for part in given)
    return False


def _is_number(name: Any) -> bool:
    """Whether a symbol may be a Python number: neither a tensor nor a NumPy value."""
    if not isinstance(name, Symbol) or name.parts[0] in ("tensor", "object"):
        return False
    return name.parts[0] != "call" or "numpy" not in library_callee(name)


def _is_small(name: Any) -> bool:
    """Whether a symbol is a constant from 1 to `MAX_CHOICES`."""
    return (
        isinstance(name, Symbol)
        and name.parts[:2] == ("constant", "int")
        and isinstance(name.parts[2], int)
        and 0 < name.parts[2] <= MAX_CHOICES
    )


def differ_in_numbers(first: Any, second: Any) -> bool:
    """Whether two symbols are the same computation with different numbers, as in two iterations of a loop with a
    counter."""
    return _alike(first, second) and first != second


@lru_cache(maxsize=8192)
def _alike(first: Any, second: Any, of_number: bool = False) -> bool:
    """Whether two symbols differ only in numbers. `of_number`: they are operands of a conversion to a Python number, so
    that they need not be Python numbers themselves."""
    if isinstance(first, Symbol) and isinstance(second, Symbol):
        if first == second:
            return True
        if second.parts[:2] in (("binary", "+"), ("binary", "-")) and second.parts[2] == first:
            step = second.parts[3]
            return isinstance(step, Symbol) and step.parts[0] == "constant" and (of_number or _is_python(first))
        return _alike(first.parts, second.parts, of_number or first.parts[0] in _NUMBERS)
    if isinstance(first, tuple) and isinstance(second, tuple) and len(first) == len(second):
        if first[:1] == ("constant",):
            return first[1] in _NUMBERS and second[0] == "constant" and second[1] in _NUMBERS
        return all(_alike(a, b, of_number) for a, b in zip(first, second, strict=True))
    return bool(first == second)


_NUMBERS = frozenset({"int", "float"})


@lru_cache(maxsize=8192)
def _is_python(name: Symbol) -> bool:
    """Whether a symbol certainly is a Python number, rather than possibly a tensor."""
    head, *rest = name.parts
    if head == "binary":
        return all(isinstance(part, Symbol) and _is_python(part) for part in rest[1:])
    if head == "unary":
        return isinstance(rest[1], Symbol) and _is_python(rest[1])
    if head == "call":
        return library_callee(name).removeprefix("builtins.") in _NUMERIC
    return head in ("index", "int", "float", "len", COUNTER) or (head == "constant" and rest[0] in _NUMBERS)
