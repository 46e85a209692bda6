"""Dividing the files of a run, so that findings do not depend on the number of processes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

PORTION_BYTES = 400_000
"""Size of the files that are analysed together and share parsed modules: about 10,000 lines."""


def portions(paths: Sequence[str], size: int = PORTION_BYTES) -> list[tuple[str, ...]]:
    """The files in order, split whenever `size` bytes are reached. Depends on names and sizes only."""
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
    """The size of a file, 0 if it cannot be read."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def processors() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
