"""Sets of moments, as sorted lists of intervals that do not touch. Times are integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

Interval: TypeAlias = "tuple[int, int]"


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The moments that are in any of the intervals, which may overlap; empty ones are left out."""
    joined: list[Interval] = []
    began = ended = None
    for first, last in sorted(intervals):
        if first >= last:
            continue
        if began is None or ended is None or first > ended:
            if began is not None and ended is not None:
                joined.append((began, ended))
            began, ended = first, last
        elif last > ended:
            ended = last
    if began is not None and ended is not None:
        joined.append((began, ended))
    return joined


def intersection(one: Sequence[Interval], other: Sequence[Interval]) -> list[Interval]:
    """The moments in both sets."""
    shared: list[Interval] = []
    here = there = 0
    while here < len(one) and there < len(other):
        first, last = max(one[here][0], other[there][0]), min(one[here][1], other[there][1])
        if first < last:
            shared.append((first, last))
        if one[here][1] < other[there][1]:
            here += 1
        else:
            there += 1
    return shared


def difference(one: Sequence[Interval], other: Sequence[Interval]) -> list[Interval]:
    """The moments in the first set and not in the second."""
    if not one:
        return []
    return intersection(one, gaps(other, one[0][0], one[-1][1]))


def gaps(intervals: Sequence[Interval], began: int, ended: int) -> list[Interval]:
    """The moments from `began` to `ended` that are in no interval of the set."""
    free: list[Interval] = []
    for first, last in intervals:
        if first >= ended:
            break
        if first > began:
            free.append((began, first))
        began = max(began, last)
    if began < ended:
        free.append((began, ended))
    return free


def length(intervals: Iterable[Interval]) -> int:
    """How long a set of moments is."""
    return sum(last - first for first, last in intervals)
