"""Iteration: the elements that loops, comprehensions and built-in functions get from a value."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.path_conditions import Path
from gpulint.analysis.domain.store import join
from gpulint.analysis.domain.values.base import Constant, Union, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.engine import special_methods
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site
from gpulint.syntax import ir

MAX_UNROLL = 8
"""Maximum length of a sequence of known elements for which a loop or comprehension is unrolled."""


def iterate(machine: Machine, iterable: Value, node: ir.Node) -> tuple[list[Value], bool]:
    """Elements of a loop over a value, and whether these are exactly all elements."""
    if isinstance(iterable, Items):
        if iterable.items is not None and len(iterable.items) <= MAX_UNROLL:
            return list(iterable.items), True
        machine.spend_on(iterable)
        element = iterable.element or (iterable.items[0] if iterable.items else None)
        if isinstance(element, Constant) or (iterable.items and not _are_alike(iterable.items)):
            element = None
        if iterable.kind == "generator" and element is not None:
            element = machine.library.generated(element)
        return [element or Unknown(("item", symbol_of(iterable), machine.site(node)))], False
    if isinstance(iterable, Mapping) and iterable.is_complete and len(iterable.entries) <= MAX_UNROLL:
        return [Constant(key) for key in iterable.entries], True
    if (row := machine.library.iterate(iterable, node)) is not None:
        return [row], False
    if isinstance(iterable, Union):
        return [_any_of(machine, iterable, node)], False
    return [Unknown(("item", symbol_of(iterable), machine.site(node)))], False


def _are_alike(elements: Sequence[Value]) -> bool:
    """Whether the first of several elements can represent all of them."""
    first = elements[0]
    return not isinstance(first, Constant) and all(type(one) is type(first) for one in elements)


def _any_of(machine: Machine, iterable: Union, node: ir.Node) -> Value:
    """Value that represents the elements of whichever alternative a loop iterates over. An empty one contributes
    none."""
    unknown = Unknown(("item", symbol_of(iterable), machine.site(node)))
    ways: list[tuple[Path, Value]] = []
    for guard, option in iterable.alternatives:
        elements, _ = iterate(machine, option, node)
        if elements:
            ways.append((guard, elements[0] if len(elements) == 1 or _are_alike(elements) else unknown))
    value = join(ways, unknown.symbol)
    return value if isinstance(value, Value) else unknown


def elements(machine: Machine, value: Value, site: Site) -> tuple[tuple[Value, ...] | None, Value | None]:
    """All elements of a value, or None if they are unknown; and one value that represents all of them, or None."""
    if isinstance(value, Items):
        items = value.items
        element = value.element
        if element is None and items and all(type(item) is type(items[0]) for item in items):
            element = items[0] if len(items) == 1 or not isinstance(items[0], Constant) else None
        return items, element
    if isinstance(value, Mapping) and value.is_complete:
        return tuple(Constant(key) for key in value.entries), None
    if isinstance(value, Object):
        return None, special_methods.next_of(machine, value, site, None)
    return None, machine.library.element_of(value, site)
