"""Sets of intervals, compared with sets of numbers."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gpulint.probe.tracing.intervals import Interval, difference, gaps, intersection, length, union

INTERVALS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=8)


def moments(intervals: list[Interval]) -> set[int]:
    return {moment for began, ended in intervals for moment in range(began, ended)}


@given(INTERVALS)
def test_a_union_has_every_moment_once(intervals: list[Interval]) -> None:
    joined = union(intervals)
    assert moments(joined) == moments(intervals)
    assert length(joined) == len(moments(intervals))
    assert all(before[1] < after[0] for before, after in pairwise(joined))


@given(INTERVALS, INTERVALS)
def test_intersections_and_differences(one: list[Interval], other: list[Interval]) -> None:
    here, there = union(one), union(other)
    assert moments(intersection(here, there)) == moments(one) & moments(other)
    assert moments(difference(here, there)) == moments(one) - moments(other)


@given(INTERVALS, st.integers(0, 30), st.integers(0, 30))
def test_gaps(intervals: list[Interval], began: int, ended: int) -> None:
    assert moments(gaps(union(intervals), began, ended)) == set(range(began, ended)) - moments(intervals)
