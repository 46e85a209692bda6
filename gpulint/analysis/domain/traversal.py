"""Traversal of containers. Each is visited once, even if it is shared or contains itself.

Thirty lines of `v = [v, v]` describe a thousand million elements in thirty lists.
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
    """Leaves of a value, depth first. `inner` returns the contents of a container, or None for a leaf."""
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
    """Leaves of lists and dicts, at any depth. Any other value is its own leaf."""
    return each_once(value, _elements)


def leaves_on(path: Path, value: Value | None) -> Iterator[Value]:
    """Leaves of all values that are possible on a path."""

    def inner(one: Value) -> Iterable[Value] | None:
        return [option for _, option in alternatives(one, path)] if type(one) is Union else _elements(one)

    return each_once(value, inner) if value is not None else iter(())


def _elements(value: Value) -> Iterable[Value] | None:
    if isinstance(value, Mapping):
        return value.entries.values()
    if not isinstance(value, Items):
        return None
    if value.items is not None:
        return value.items
    return (value.element,) if value.element is not None else None


def iterated_sources(value: Value | None) -> Iterator[Value]:
    """Values that a loop iterates over, on any path: the sources of `enumerate`, `zip` and generators, at any depth."""

    def inner(one: Value | None) -> Iterable[Value] | None:
        if isinstance(one, Union):
            return [option for _, option in one.alternatives]
        return (one.over or None) if isinstance(one, Items) else None

    return each_once(value, inner) if value is not None else iter(())


def dataset_iterables(values: Iterable[Value]) -> tuple[Value, ...]:
    """Values that iterate over a dataset, out of several."""
    return tuple(value for value in values if any(isinstance(one, Dataset) for one in iterated_sources(value)))


def iterated_datasets(iterables: Iterable[Value | None]) -> Iterator[Dataset]:
    """Datasets that loops over these values iterate over."""
    for value in iterables:
        for one in iterated_sources(value):
            if isinstance(one, Dataset):
                yield one


def length_sources(value: Value | None) -> Iterator[Value]:
    """Values that determine the elements of a loop: the parts of `enumerate` and `zip` whose elements are unknown."""

    def inner(one: Value | None) -> Iterable[Value] | None:
        if not isinstance(one, Items) or one.items is not None or one.kind == "generator":
            return None
        return one.over or None

    return each_once(value, inner) if value is not None else iter(())


def snapshot(value: Value) -> Value:
    """Snapshot of what a loop iterates over when it begins: later changes to a list are undone with their path."""
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
            copy.around, copy.is_endless, copy.most = one.around, one.is_endless, one.most
        return done[id(one)]

    return of(value)


def datasets_in(dataset: Dataset) -> Iterator[Dataset]:
    """A dataset and all its inputs, at any depth."""
    seen: dict[int, Dataset] = {}
    pending = [dataset]
    while pending:
        one = pending.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            pending += reversed(one.inputs)
    return iter(seen.values())


def with_elements(one: Items | Mapping, parts: tuple[Value, ...], name: tuple[Any, ...]) -> Value:
    """A list or dict like `one` with other elements; `name` is the name of a dict."""
    if isinstance(one, Items):
        return Items(one.kind, parts)
    return Mapping(dict(zip(one.entries, parts, strict=True)), one.is_complete, name)


def rebuilt(
    value: Value,
    change: Callable[[Value], Value],
    made: Callable[[Any, tuple[Value, ...]], Value],
    kinds: tuple[type[Value], ...] = (Items,),
) -> Value:
    """Apply `change` to each leaf of a value's lists and tuples, on every path.

    `made` creates the container from the old one and its new elements. A container that contains itself is kept
    unchanged at the inner place, and so is one whose elements are unknown.
    """
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
