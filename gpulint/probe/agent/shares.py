"""How `fit` divides its batches among the replicas of a strategy.

The training step takes its batch from an iterator, where nothing can be seen, but the batches follow from the length of
the data: `tf.data` cuts each, also the last one of an epoch, into parts of the same size, rounded up, until nothing is
left (2.21).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.pipelines import bare

Shares = tuple[int, ...]
"""Number of elements of each replica."""

KERAS_BATCH = 32
"""The batch that `fit` cuts out of arrays unless it is given another."""

_KEEPS = frozenset({"Cache", "Map", "Options", "ParallelMap", "Prefetch", "Shuffle"})
"""Stages that return as many elements as they get."""

_BATCHES, _SOURCE = frozenset({"Batch", "ParallelBatch"}), "TensorSlice"

MOST = 50
"""Maximum number of stages that are followed."""


def of_arrays(data: Any, batch: int | None, replicas: int) -> Counter[Shares]:
    """Number of batches in an epoch over arrays, keyed by their shares; empty if the length is unknown."""
    while isinstance(data, (tuple, list, dict)) and data:
        data = next(iter(data.values() if isinstance(data, dict) else data))
    return _divided(_length(data), batch or KERAS_BATCH, replicas)


def of_dataset(dataset: Any, replicas: int, value_of: Callable[[Any], Any]) -> Counter[Shares]:
    """Number of batches in an epoch over a `tf.data.Dataset`, keyed by their shares; empty if its length is
    unknown. `value_of` returns the value of a constant."""
    batch, is_partial = 0, False
    for _ in range(MOST):
        name = bare(type(dataset).__name__)
        if name == _SOURCE:
            return _divided(_length(dataset._tensors[0]), batch, replicas, is_partial)
        if name in _BATCHES and not batch:
            batch, is_partial = int(value_of(dataset._batch_size)), not value_of(dataset._drop_remainder)
        elif name not in _KEEPS:
            break
        dataset = dataset._input_dataset
    return Counter()


def shared(size: int, replicas: int) -> Shares:
    """Shares of a batch with this size."""
    each = -(-size // replicas)
    return tuple(max(min(each, size - number * each), 0) for number in range(replicas))


def _divided(length: int, batch: int, replicas: int, is_partial: bool = True) -> Counter[Shares]:
    found: Counter[Shares] = Counter()
    if length and batch:
        whole, rest = divmod(length, batch)
        if whole:
            found[shared(batch, replicas)] += whole
        if rest and is_partial:
            found[shared(rest, replicas)] += 1
    return found


def _length(data: Any) -> int:
    """First dimension, 0 if there is none."""
    shape = getattr(data, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) else 0
