"""Values that the host drew at random: records of a memory, and lists that are filled with them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gpulint.analysis.domain.context import Loop
from gpulint.analysis.domain.path_conditions import EVERYWHERE
from gpulint.analysis.domain.symbolic import Symbol, called_with, flat, library_callee, symbol
from gpulint.analysis.domain.traversal import leaves_on
from gpulint.analysis.domain.values import containers
from gpulint.analysis.domain.values.base import Unknown, Value


def is_drawn(value: Value) -> bool:
    """Whether a value is a field of one record sampled from a collection, such as a state from a replay buffer."""
    return type(value) is Unknown and _is_drawn(value.symbol)


def _is_drawn(name: Symbol) -> bool:
    deep = 0
    while name.parts[0] in ("item", "in_iteration"):
        deep += name.parts[0] == "item"
        name = symbol(name.parts[1 if name.parts[0] == "item" else 2])
    return deep == 2 and name.parts[0] == "call" and called_with(name)[0] in _DRAWS


_DRAWS = frozenset({"sample", "choices"})


def drawn_list(value: containers.Items) -> Symbol | None:
    """Symbol of a list that a loop or comprehension fills with records drawn at random: it has the loops in which the
    list is created. None for any other list."""
    if value.items is not None or value.element is None or not value.around:
        return None
    records = tuple(leaves_on(EVERYWHERE, value.element))
    is_random = all(map(_is_at_random, records)) or any(map(are_drawn_indices, value.symbol.parts[3:]))
    if not records or not is_random:
        return None
    return Symbol((_DRAWN, *(loop.site for loop in value.around)))


def is_drawn_in(value: Value, loop: Loop) -> bool:
    """Whether each iteration of a loop draws one by one, at random, the records from which a value is computed."""
    if type(value) is not Unknown or _DRAWN not in value.symbol.words:
        return False
    seen: set[int] = set()
    pending: list[Any] = [value.symbol]
    while pending:
        part = pending.pop()
        if isinstance(part, Symbol) and id(part) not in seen and _DRAWN in part.words:
            if part.parts[0] == _DRAWN and loop.site in part.parts:
                return True
            seen.add(id(part))
            pending += flat(part.parts)
    return False


def _is_at_random(value: Value) -> bool:
    """Whether a value is, or is part of, what `random.sample` or `random.choice` returned, or what a collection has at
    a random index."""
    if type(value) is not Unknown:
        return False
    name = value.symbol
    while name.parts[0] in ("item", "in_iteration"):
        if (
            name.parts[0] == "item"
            and isinstance(name.parts[2], Symbol)
            and _is_result_of(name.parts[2], _DRAW_INDICES)
        ):
            return True
        name = symbol(name.parts[1 if name.parts[0] == "item" else 2])
    return _is_result_of(name, _DRAW_RECORDS)


def are_drawn_indices(name: Any) -> bool:
    """Whether what a comprehension iterates over was drawn at random, as indices are, or follows from such a list."""
    if isinstance(name, Symbol) and name.parts[0] == "list":
        return any(map(are_drawn_indices, name.parts[2:]))
    return isinstance(name, Symbol) and _is_result_of(name, _DRAW_INDICES)


def _is_result_of(name: Symbol, functions: frozenset[str]) -> bool:
    """Whether a symbol is, or is an element of, the result of one of these functions: not of one that puts all elements
    of a collection in another order (`random.sample(x, len(x))`)."""
    while name.parts[0] in ("item", "in_iteration"):
        name = symbol(name.parts[1 if name.parts[0] == "item" else 2])
    return name.parts[0] == "call" and library_callee(name) in functions and not _takes_all(name)


def _takes_all(call: Symbol) -> bool:
    """Whether a function that draws several elements draws as many as there are."""
    count = called_with(call)[1][1:2] if library_callee(call) in _DRAW_SEVERAL else ()
    return any(isinstance(one, Symbol) and one.parts[0] == "len" for one in count)


@lru_cache(maxsize=8192)
def is_reordered(name: Symbol) -> bool:
    """Whether a value was computed from all elements of a collection in a random order: `random.sample(x, len(x))`."""
    if name.parts[0] == "call" and _takes_all(name):
        return True
    return any(is_reordered(part) for part in flat(name.parts) if isinstance(part, Symbol) and "len" in part.words)


_DRAWN = "drawn"
"""Head of the symbols of lists that a loop fills with records drawn at random."""

_DRAW_SEVERAL = frozenset({"numpy.random.choice", "random.choices", "random.sample"})
"""Functions whose second argument is the number of results."""

_DRAW_RECORDS = frozenset({"random.choice", "random.choices", "random.sample"})
_DRAW_INDICES = _DRAW_RECORDS | {"numpy.random.choice", "numpy.random.randint", "random.randint", "random.randrange"}
