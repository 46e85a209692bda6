"""Dividing a run's files, so that what is found does not depend on how many processes look for it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

PORTION_BYTES = 400_000
"""Size of the files that are examined together, of which one may learn from another: some 10,000 lines."""


def portions(paths: Sequence[str], size: int = PORTION_BYTES) -> list[tuple[str, ...]]:
    """The files in their order, divided where `size` bytes are reached. Depends on nothing but names and sizes."""
    return list(_divided(paths, size))


def _divided(paths: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    portion: list[str] = []
    reached = 0
    for path in paths:
        portion.append(path)
        reached += bytes_of(path)
        if reached >= size:
            yield tuple(portion)
            portion, reached = [], 0
    if portion:
        yield tuple(portion)


def bytes_of(path: str) -> int:
    """The size of a file, 0 where it cannot be told."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def processors() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
