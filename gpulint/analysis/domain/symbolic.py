"""Structural names of values that are not known."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

MAX_WORDS = 24
"""Words of a symbol that are kept for questions such as "does it speak of devices?"."""


class Symbol:
    """A name built of strings, numbers, places and other symbols: `("attribute", args, "multi_gpu")`.

    Two symbols of the same parts are equal. A network of a hundred layers gives symbols whose written form would
    be exponentially long, so equality is that of a 61-bit digest taken once, and parts are shared.
    """

    __slots__ = ("_first", "_words", "digest", "parts")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        self.digest = hash(parts)
        self._first: tuple[str, ...] | None = None
        self._words: frozenset[str] | None = None

    @property
    def words(self) -> frozenset[str]:
        """The strings in it, at any depth."""
        if self._words is None:
            self._words = frozenset(self.first_words)
        return self._words

    @property
    def first_words(self) -> tuple[str, ...]:
        """The same in their order, so that the same ones are kept in each run."""
        if self._first is None:
            self._first = tuple(dict.fromkeys(_words(self.parts)))[:MAX_WORDS]
        return self._first

    @property
    def package(self) -> str:
        """The outermost package of the library, or what is taken for one, that gave what it names; "" for none."""
        name = self
        while name.parts[0] in ("attribute", "call", "item"):
            inner = name.parts[1]
            if isinstance(inner, tuple):
                inner = Symbol(inner)
            if not isinstance(inner, Symbol):
                return ""
            name = inner
        return str(name.parts[1]).partition(".")[0] if name.parts[0] == "external" else ""

    def __hash__(self) -> int:
        return self.digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbol) and other.digest == self.digest

    def __repr__(self) -> str:
        return f"Symbol{self.parts!r}"


def _words(parts: tuple[Any, ...]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Symbol):
            yield from part.first_words
        elif isinstance(part, tuple) and not hasattr(part, "_fields"):
            yield from _words(part)


@lru_cache(maxsize=4096)
def constants_in(name: Any) -> frozenset[object]:
    """The constants in it, at any depth."""
    if isinstance(name, Symbol) and name.parts[0] == "constant":
        return frozenset({name.parts[2]})
    if isinstance(name, Symbol) or (isinstance(name, tuple) and not hasattr(name, "_fields")):
        parts = name.parts if isinstance(name, Symbol) else name
        return frozenset().union(*(constants_in(part) for part in parts))
    return frozenset()


HOST_READ = "host read"
"""The head of the symbol of what was read from a tensor."""

COUNTER = "counter"
"""The head of the symbol of a number that a loop or an object counts with."""

ROWS = "rows"
"""The head of the symbol of a slice among several indices; the last three parts are its bounds."""


def is_one_row(lower: Symbol, upper: Symbol, step: Symbol) -> bool:
    """Whether a slice has one element: `x[i : i + 1]`, `x[:1]`."""
    if upper.parts[:2] == ("binary", "+"):
        return bool(upper.parts[2] == lower and upper.parts[3] == _ONE)
    if step not in (_NONE, _ONE) or upper.parts[0] != "constant" or lower.parts[0] != "constant":
        return False
    first, end = lower.parts[2] or 0, upper.parts[2]
    return type(first) is int and type(end) is int and 0 <= first == end - 1


def distance(first: Symbol, second: Symbol) -> int | None:
    """How much greater the second number is than the first, whatever the unknown ones are of which both are made by
    adding and multiplying: 32 of `32 * i` and `32 * (i + 1)`. None where that depends on them."""
    terms = _terms(second)
    for name, times in _terms(first).items():
        terms[name] = terms.get(name, 0) - times
    constant = terms.pop(None, 0)
    return None if any(terms.values()) else constant


def _terms(name: Symbol) -> dict[Symbol | None, int]:
    """A number as a sum of multiples of unknown ones; None stands for 1."""
    if name.parts[:2] == ("constant", "int"):
        return {None: name.parts[2]}
    if name.parts[0] != "binary" or name.parts[1] not in ("+", "-", "*"):
        return {name: 1}
    left, right = _terms(symbol(name.parts[2])), _terms(symbol(name.parts[3]))
    if name.parts[1] == "*":
        if right.keys() != {None}:
            left, right = right, left
        return {each: times * right[None] for each, times in left.items()} if right.keys() == {None} else {name: 1}
    sign = 1 if name.parts[1] == "+" else -1
    for each, times in right.items():
        left[each] = left.get(each, 0) + sign * times
    return left


def symbol(name: Any) -> Symbol:
    """The symbol of these parts (a tuple), or of one."""
    if isinstance(name, Symbol):
        return name
    return Symbol(name if isinstance(name, tuple) else (name,))


_ONE = symbol(("constant", "int", 1))
_NONE = symbol(("constant", "NoneType", None))
