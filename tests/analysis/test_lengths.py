"""Bounds on the number of elements of a value."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpulint.analysis.domain.lengths import slice_length

BOUNDS = st.none() | st.integers(-5, 12)


@given(BOUNDS, BOUNDS, st.none() | st.integers(1, 4), st.integers(0, 30))
def test_a_slice_is_never_longer_than_its_bound(
    lower: int | None, upper: int | None, step: int | None, length: int
) -> None:
    bound = slice_length(lower, upper, step)
    assert bound is None or len(range(length)[lower:upper:step]) <= bound


def test_a_slice_to_the_end_has_no_bound() -> None:
    assert slice_length(2, None, None) is slice_length(None, -1, None) is slice_length(None, ..., None) is None
    assert slice_length(None, 5, 2) == slice_length(-3, None, None) == 3
