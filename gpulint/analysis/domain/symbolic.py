"""Structural names of unknown values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

MAX_WORDS = 24
"""Maximum number of words kept per symbol, for queries such as "does it mention devices?"."""

_NUMBERS = frozenset({float, int})


class Symbol:
    """A name composed of strings, numbers, sites and other symbols: `("attribute", args, "multi_gpu")`.

    Symbols with the same parts are equal. The written form of a symbol can grow exponentially with the depth of the
    program (a network of a hundred layers), so parts are shared and equality compares a 61-bit digest computed once.
    """

    __slots__ = ("_first", "_origin", "_words", "digest", "parts")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        last = parts[-1] if parts else None
        is_ambiguous = last.__class__ in _NUMBERS and last == -1  # Python gives -1 and -2 the same hash
        self.digest = hash((*parts, "ambiguous")) if is_ambiguous else hash(parts)
        self._first: tuple[str, ...] | None = None
        self._origin: str | None = None
        self._words: frozenset[str] | None = None

    @property
    def words(self) -> frozenset[str]:
        """Strings in the symbol, at any depth."""
        if self._words is None:
            self._words = frozenset(self.first_words)
        return self._words

    @property
    def first_words(self) -> tuple[str, ...]:
        """Strings in the symbol in order of appearance, the first `MAX_WORDS` of them: the same ones in each run."""
        if self._first is None:
            self._first = tuple(dict.fromkeys(_words(self.parts)))[:MAX_WORDS]
        return self._first

    @property
    def package(self) -> str:
        """Outermost package of the library, or of what is taken for one, that the named value comes from; "" if there
        is none."""
        return self.origin.partition(".")[0]

    @property
    def origin(self) -> str:
        """Dotted name of a library, or of what is taken for one, from which calls, attributes and items lead to the
        named value; "" if there is none."""
        if self._origin is None:
            passed = [self]
            while (inner := passed[-1]._inner()) is not None and inner._origin is None:
                passed.append(inner)
            last = passed[-1].parts
            found = str(last[1]) if last[:1] == ("external",) else ""
            for name in passed:  # chains share their beginnings
                name._origin = found if inner is None else inner._origin
        return self._origin or ""

    def _inner(self) -> Symbol | None:
        """The symbol of what is called, or whose attribute or item this is, None for others."""
        if self.parts[:1] not in (("attribute",), ("call",), ("item",)):
            return None
        inner = self.parts[1]
        if isinstance(inner, tuple):
            inner = Symbol(inner)
        return inner if isinstance(inner, Symbol) else None

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
    """Constants in a symbol, at any depth."""
    if isinstance(name, Symbol) and name.parts[0] == "constant":
        return frozenset({name.parts[2]})
    if isinstance(name, Symbol) or (isinstance(name, tuple) and not hasattr(name, "_fields")):
        parts = name.parts if isinstance(name, Symbol) else name
        return frozenset().union(*(constants_in(part) for part in parts))
    return frozenset()


HOST_READ = "host read"
"""Head of the symbol of a value that the host read from a tensor."""

ELEMENT_READ = "host"
"""Head of the symbol of an array that was read from an element of a dataset, which the host has already."""

COUNTER = "counter"
"""Head of the symbol of a number that a loop or an object increments."""

ROWS = "rows"
"""Head of the symbol of a slice among several indices. Its last three parts are the bounds."""


def is_one_row(lower: Symbol, upper: Symbol, step: Symbol) -> bool:
    """Whether a slice has one element: `x[i : i + 1]`, `x[:1]`."""
    if upper.parts[:2] == ("binary", "+"):
        return bool(upper.parts[2] == lower and upper.parts[3] == _ONE)
    if step not in (_NONE, _ONE) or upper.parts[0] != "constant" or lower.parts[0] != "constant":
        return False
    first, end = lower.parts[2] or 0, upper.parts[2]
    return type(first) is int and type(end) is int and 0 <= first == end - 1


def distance(first: Symbol, second: Symbol) -> int | None:
    """Second number minus the first: 32 for `32 * i` and `32 * (i + 1)`. None if the difference depends on the
    unknown numbers in them."""
    terms = dict(_terms(second))
    for name, times in _terms(first).items():
        terms[name] = terms.get(name, 0) - times
    constant = terms.pop(None, 0)
    return None if any(terms.values()) else constant


@lru_cache(maxsize=4096)
def _terms(name: Symbol) -> Mapping[Symbol | None, int]:
    """A number as a linear combination of unknown ones, mapped to their coefficients. The key None stands for 1."""
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
    return {each: left.get(each, 0) + sign * right.get(each, 0) for each in (*left, *right)}


def symbol(name: Any) -> Symbol:
    """Symbol with these parts (a tuple), or with one part."""
    if isinstance(name, Symbol):
        return name
    return Symbol(name if isinstance(name, tuple) else (name,))


_ONE = symbol(("constant", "int", 1))
_NONE = symbol(("constant", "NoneType", None))


def called_with(name: Symbol) -> tuple[str, tuple[Any, ...]]:
    """Last part of the callee's name and the symbols of the positional arguments, from the symbol of a call."""
    last = symbol(name.parts[1]).parts[-1]
    given = name.parts[2] if len(name.parts) > 2 and isinstance(name.parts[2], tuple) else ()
    return last.rpartition(".")[2] if isinstance(last, str) else "", given


def flat(parts: tuple[Any, ...]) -> Iterator[Any]:
    """Parts of a symbol, and those of the tuples among them."""
    for part in parts:
        if isinstance(part, tuple):
            yield from flat(part)
        else:
            yield part


def library_callee(name: Symbol) -> str:
    """Canonical name of the library function or class that the symbol of a call calls; "" for any other callee."""
    parts = symbol(name.parts[1]).parts
    return str(parts[1]) if len(parts) == 2 and parts[0] == "external" else ""
