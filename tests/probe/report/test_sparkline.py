"""Curves as a line of text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.probe.report.sparkline import sparkline

FLOATS = st.floats(allow_nan=True, allow_infinity=True)


def test_eight_heights() -> None:
    assert sparkline(range(8), 8) == "▁▂▃▄▅▆▇█"
    assert sparkline(range(8), 8, ascii_only=True) == "_.-:=+*#"


def test_fewer_values_than_characters_are_not_stretched() -> None:
    assert sparkline([0, 1], 80) == "▁█"


def test_a_peak_does_not_vanish() -> None:
    assert sparkline([0] * 50 + [1] + [0] * 49, 10) == "▁▁▁▁▁█▁▁▁▁"


def test_a_level_line_is_low() -> None:
    assert sparkline([5, 5, 5], 3) == "▁▁▁"


def test_a_scale_can_be_given() -> None:
    assert sparkline([50, 50], 2, low=0, high=100) == "▅▅"
    assert sparkline([-1, 200], 2, low=0, high=100) == "▁█"


def test_what_is_not_finite_is_a_gap() -> None:
    assert sparkline([0, math.nan, 1], 3) == "▁ █"
    assert sparkline([math.nan, math.inf], 5) == "  "


@pytest.mark.parametrize("width", [0, -3])
def test_no_width_no_line(width: int) -> None:
    assert sparkline([1, 2], width) == ""
    assert sparkline([], 5) == ""


@given(st.lists(FLOATS, max_size=200), st.integers(1, 100))
def test_any_values_give_a_line_of_that_width(values: list[float], width: int) -> None:
    for ascii_only in (False, True):
        line = sparkline(values, width, ascii_only=ascii_only)
        assert len(line) == min(width, len(values))
        assert set(line) <= set(" _.-:=+*#" if ascii_only else " ▁▂▃▄▅▆▇█")
        assert not ascii_only or line.isascii()


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=60))
def test_greater_is_not_lower(values: list[int]) -> None:
    line = sparkline(values, len(values))
    ordered = [character for _, character in sorted(zip(values, line, strict=True))]
    assert ordered == sorted(ordered)
