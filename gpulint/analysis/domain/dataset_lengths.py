"""How many elements a dataset has at most, read off its source and its transformations.

Arrays and tensors that are made of a shape (`zeros`, `random`) are not counted: they stand for real data.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpulint.analysis.domain.lengths import count_of, most_items
from gpulint.analysis.domain.values.base import Arguments, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.datasets import Dataset, Step
from gpulint.analysis.domain.values.tensors import Tensor

MAX_NESTED = 8
"""Maximum nesting depth of datasets, and of tuples and dicts of arrays, that are looked into."""


def most_elements(dataset: Dataset, depth: int = MAX_NESTED) -> int | None:
    """Maximum number of elements of a dataset; None if it is unknown."""
    length = dataset.length
    for step in dataset.steps:
        other = step.arguments.get("dataset", 0) if step.name == "concatenate" and depth else None
        length = _after(step, length, most_elements(other, depth - 1) if isinstance(other, Dataset) else None)
    return length


def most_rows(value: Value | None, depth: int = MAX_NESTED) -> int | None:
    """Maximum number of slices of a list, array or tensor along its first axis, or of each array in a tuple or dict,
    which have equally many. None if it is unknown."""
    if isinstance(value, Tensor):
        return value.length
    if isinstance(value, Items) and value.kind == "tuple" and value.items is not None:
        return _least(value.items, depth)
    if isinstance(value, Mapping):
        return _least(value.entries.values(), depth)
    if isinstance(value, Items):
        return most_items(value)
    return count_of(symbol_of(value)) if value is not None else None


def created_rows(name: str, arguments: Arguments, params: tuple[str, ...]) -> int | None:
    """Number of slices along its first axis of the tensor that an op creates from a value."""
    if name not in _OF_VALUES:
        return None
    given = arguments.get(params[0] if params else "value", 0)
    return most_items(given) if isinstance(given, Items) else most_rows(given)


_OF_VALUES = frozenset(
    f"tensorflow.{name}" for name in ("cast", "constant", "convert_to_tensor", "identity", "ones_like", "zeros_like")
)


def _least(values: Iterable[Value], depth: int) -> int | None:
    once = {id(one): one for one in values} if depth else {}
    found = [most_rows(one, depth - 1) for one in once.values()]
    return min((one for one in found if one is not None), default=None)


def source_elements(name: str, arguments: Arguments, inputs: Iterable[Dataset] = ()) -> int | None:
    """Maximum number of elements of the dataset that a source function creates, from these datasets or from its
    arguments."""
    own, given = name.rpartition(".")[2], arguments.positional
    if own == "zip":
        found = map(most_elements, inputs)
        return min((one for one in found if one is not None), default=None)
    if arguments.open:
        return None
    if own == "from_tensors":
        return 1
    if own == "from_tensor_slices":
        return most_rows(arguments.get("tensors", 0))
    if own == "range" and given:
        bounds = [number for number in map(known, given) if type(number) is int]
        return len(range(*bounds)) if len(bounds) == len(given) < 3 and max(map(abs, bounds)) < MAX_NUMBER else None
    return None


MAX_NUMBER = 2**31
"""Bound on the numbers of a range whose length is counted."""


def _after(step: Step, length: int | None, more: int | None) -> int | None:
    """Maximum number of elements after a transformation of a dataset that has at most `length`. `more`: that of the
    dataset that is appended."""
    count = _count(step.arguments.get("count", 0))
    if step.name == "take":
        return count if length is None else length if count is None else min(count, length)
    if length is None or step.name in _KEEPING:
        return length
    if step.name in ("batch", "padded_batch", "ragged_batch"):
        size = _count(step.arguments.get("batch_size", 0))
        dropped = known(step.arguments.get("drop_remainder")) is True
        return length if not size else length // size if dropped else -(-length // size)
    if step.name == "skip":
        return max(length - (count or 0), 0)
    if step.name == "shard":
        shards = _count(step.arguments.get("num_shards", 0))
        return -(-length // shards) if shards else length
    if step.name == "repeat":
        return length * count if count is not None else None
    if step.name == "concatenate":
        return length + more if more is not None else None
    return None


_KEEPING = frozenset(
    {
        *("bucket_by_sequence_length", "cache", "enumerate", "filter", "ignore_errors", "map", "prefetch", "scan"),
        *("shuffle", "snapshot", "take_while", "unique", "window", "with_options", "zip"),
    }
)
"""Transformations after which a dataset has no more elements than before."""


def _count(value: Value | None) -> int | None:
    number = known(value)
    return number if type(number) is int and number >= 0 else None
