"""A curve as one line of text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII = "_.-:=+*#"


def sparkline(
    values: Sequence[float],
    width: int,
    *,
    low: float | None = None,
    high: float | None = None,
    ascii_only: bool = False,
) -> str:
    """At most `width` characters of eight heights.

    With more values than characters, each character shows the maximum of its values, so that peaks survive. `low` and
    `high` default to the minimum and maximum; a constant line is drawn low. Values that are not finite are gaps.
    """
    heights = _ASCII if ascii_only else _BLOCKS
    finite = [value for value in values if isfinite(value)]
    if width < 1 or not values:
        return ""
    if not finite:
        return " " * min(width, len(values))
    bottom = min(finite) if low is None else low
    top = max(finite) if high is None else high
    return "".join(_character(group, bottom, top, heights) for group in _groups(values, width))


def _groups(values: Sequence[float], width: int) -> list[Sequence[float]]:
    count = min(width, len(values))
    edges = [len(values) * number // count for number in range(count + 1)]
    return [values[first:behind] for first, behind in pairwise(edges)]


def _character(group: Sequence[float], bottom: float, top: float, heights: str) -> str:
    finite = [value for value in group if isfinite(value)]
    if not finite:
        return " "
    if top <= bottom:
        return heights[0]
    share = (max(finite) / 2 - bottom / 2) / (top / 2 - bottom / 2)  # halved: the difference itself may overflow
    return heights[min(len(heights) - 1, max(0, int(share * len(heights))))]
