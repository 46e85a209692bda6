"""Values that hold values. Each is walked once, however often it stands somewhere, and if it stands in itself.

Thirty rows of `v = [v, v]` make a thousand million elements, in thirty lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gpulint.analysis.domain.path_conditions import Path
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.values.base import Union, Value
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.datasets import Dataset


def each_once(value: Any, inner: Callable[[Any], Iterable[Any] | None]) -> Iterator[Any]:
    """What stands in a value, depth first: `inner` gives what something holds, or None for what is no container."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        one = pending.pop()
        held = inner(one)
        if held is None:
            yield one
        elif id(one) not in seen:
            seen.add(id(one))
            pending += reversed(tuple(held))


def leaves(value: Value) -> Iterator[Value]:
    """What stands in lists and dicts, at any depth, and everything else as it is."""
    return each_once(value, _elements)


def leaves_on(path: Path, value: Value | None) -> Iterator[Value]:
    """The leaves of all that a value can be on a path."""

    def inner(one: Value) -> Iterable[Value] | None:
        return [option for _, option in alternatives(one, path)] if type(one) is Union else _elements(one)

    return each_once(value, inner)


def _elements(value: Value) -> Iterable[Value] | None:
    if isinstance(value, Mapping):
        return value.entries.values()
    if not isinstance(value, Items):
        return None
    if value.items is not None:
        return value.items
    return (value.element,) if value.element is not None else None


def gone_over(value: Value | None) -> Iterator[Value]:
    """What a loop goes over, on any path: that of which `enumerate`, `zip` and generators are made, at any depth."""

    def inner(one: Value | None) -> Iterable[Value] | None:
        if isinstance(one, Union):
            return [option for _, option in one.alternatives]
        return (one.over or None) if isinstance(one, Items) else None

    return each_once(value, inner)


def data_in(values: Iterable[Value]) -> tuple[Value, ...]:
    """Those of some values that go over a dataset."""
    return tuple(value for value in values if any(isinstance(one, Dataset) for one in gone_over(value)))


def datasets_over(iterables: Iterable[Value | None]) -> Iterator[Dataset]:
    """The datasets that loops over these values go over."""
    return (one for value in iterables for one in gone_over(value) if isinstance(one, Dataset))


def counted_in(value: Value | None) -> Iterator[Value]:
    """What a loop takes its rounds from: the parts of `enumerate` and `zip` whose own elements are not known."""

    def inner(one: Value | None) -> Iterable[Value] | None:
        if not isinstance(one, Items) or one.items is not None or one.kind == "generator":
            return None
        return one.over or None

    return each_once(value, inner)


def as_now(value: Value) -> Value:
    """What a loop goes over, as it is when the loop begins: what is put into a list is taken back with its path."""
    done: dict[int, Value] = {}

    def of(one: Value) -> Value:
        if isinstance(one, Union):
            return Union(tuple([(path, of(option)) for path, option in one.alternatives]))
        if not isinstance(one, Items):
            return one
        if id(one) not in done:
            done[id(one)] = one
            over = tuple([of(part) for part in one.over])
            copy = done[id(one)] = Items(one.kind, one.items, one.element, one.symbol, over)
            copy.around, copy.is_endless = one.around, one.is_endless
        return done[id(one)]

    return of(value)


def datasets_in(dataset: Dataset) -> Iterator[Dataset]:
    """A dataset, and each that it goes over."""
    seen: dict[int, Dataset] = {}
    pending = [dataset]
    while pending:
        one = pending.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            pending += reversed(one.inputs)
    return iter(seen.values())


def like(one: Items | Mapping, parts: tuple[Value, ...], name: tuple[Any, ...]) -> Value:
    """A list, or a dict of a name, like another, with other elements."""
    if isinstance(one, Items):
        return Items(one.kind, parts)
    return Mapping(dict(zip(one.entries, parts, strict=True)), bool(one.state["complete"]), name)


def rebuilt(
    value: Value,
    change: Callable[[Value], Value],
    made: Callable[[Any, tuple[Value, ...]], Value],
    kinds: tuple[type[Value], ...] = (Items,),
) -> Value:
    """A value with each leaf of its lists and tuples changed, on whatever path; `made` gives what a list becomes of its
    new elements. One that stands in itself stays there as it is, and so does one whose elements are not known."""
    done: dict[int, Value] = {}

    def of(one: Value) -> Value:
        if type(one) is Union:
            return Union(tuple([(path, of(option)) for path, option in one.alternatives]))
        if not isinstance(one, kinds) or (isinstance(one, Items) and one.items is None):
            return change(one)
        if id(one) not in done:
            done[id(one)] = one
            done[id(one)] = made(one, tuple([of(item) for item in _elements(one) or ()]))
        return done[id(one)]

    return of(value)
