"""Rectangles whose areas are values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.probe.report.page.treemap import Box, squarified

WHOLE = Box(0, 0, 560, 200)
VALUES = st.lists(st.integers(1, 1 << 40), min_size=1, max_size=40).map(lambda values: sorted(values, reverse=True))


@given(VALUES)
def test_areas_are_values(values: list[int]) -> None:
    boxes = squarified(values, WHOLE)
    assert len(boxes) == len(values)
    for value, box in zip(values, boxes, strict=True):
        assert box.width * box.height == pytest.approx(560 * 200 * value / sum(values), rel=1e-3, abs=1e-3)


@given(VALUES)
def test_boxes_are_inside_and_apart(values: list[int]) -> None:
    boxes = squarified(values, WHOLE)
    for box in boxes:
        assert box.x >= -1e-6 and box.y >= -1e-6
        assert box.x + box.width <= 560 + 1e-3 and box.y + box.height <= 200 + 1e-3
    for number, one in enumerate(boxes):
        for other in boxes[number + 1 :]:
            wide = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            high = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert wide <= 1e-3 or high <= 1e-3


def test_equal_values_are_nearly_square() -> None:
    for box in squarified([1] * 10, WHOLE):
        assert max(box.width / box.height, box.height / box.width) < 2
