"""How batches were divided among the replicas of a strategy."""

from __future__ import annotations

from collections import Counter

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where


def splits_by_loop(capture: Capture) -> dict[Where | None, Counter[tuple[int, ...]]]:
    """Loop → elements of each replica → number of batches divided in this way."""
    found: dict[Where | None, Counter[tuple[int, ...]]] = {}
    for one, count in capture.splits.items():
        found.setdefault(one.where, Counter())[one.sizes] += count
    return found


def divided(size: int, replicas: int) -> tuple[int, ...]:
    """Elements of each replica for a batch of this size. TensorFlow fills one replica after the other (2.21)."""
    most = -(-size // replicas)
    return tuple(max(0, min(most, size - most * before)) for before in range(replicas))


def shares(sizes: tuple[int, ...]) -> str:
    """`32 of 64 each`, or `3, 3, 3, 1 of 10`."""
    if len(set(sizes)) == 1:
        return f"{sizes[0]} of {sum(sizes)} each"
    return f"{', '.join(map(str, sizes))} of {sum(sizes)}"
