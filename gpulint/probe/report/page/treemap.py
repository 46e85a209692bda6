"""A treemap: rectangles whose areas are proportional to values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_LEAST = 1e-9
"""Shortest side of the remaining space: rounding may leave none for the smallest values."""


class Box(NamedTuple):
    """A rectangle; `x` and `y` are its upper left corner."""

    x: float
    y: float
    width: float
    height: float


def squarified(values: Sequence[float], box: Box) -> list[Box]:
    """A rectangle inside `box` for each value, in order. `values` are positive and descend.

    The rectangles are laid out in rows along the shorter side of the remaining space; a row ends where one more
    rectangle would make its worst aspect ratio worse (Bruls, Huizing and van Wijk, *Squarified Treemaps*, 2000).
    """
    boxes: list[Box] = []
    total = sum(values)
    scale = box.width * box.height / total if total else 0.0
    areas = [value * scale for value in values]
    while areas:
        side = max(min(box.width, box.height), _LEAST)
        number = 1
        while number < len(areas) and _worst(areas[: number + 1], side) <= _worst(areas[:number], side):
            number += 1
        row, areas = areas[:number], areas[number:]
        placed, box = _laid_out(row, box)
        boxes += placed
    return boxes


def _worst(row: Sequence[float], side: float) -> float:
    """The largest aspect ratio in a row that spans `side`."""
    thickness = sum(row) / side
    return max(max(area / thickness**2, thickness**2 / area) for area in row)


def _laid_out(row: Sequence[float], box: Box) -> tuple[list[Box], Box]:
    """The rectangles of a row along the shorter side, and the space that is left."""
    x, y, width, height = box
    if width >= height:
        thickness = sum(row) / max(height, _LEAST)
        placed = []
        for area in row:
            placed.append(Box(x, y, thickness, area / thickness))
            y += area / thickness
        return placed, Box(x + thickness, box.y, max(width - thickness, 0.0), height)
    thickness = sum(row) / max(width, _LEAST)
    placed = []
    for area in row:
        placed.append(Box(x, y, area / thickness, thickness))
        x += area / thickness
    return placed, Box(box.x, y + thickness, width, max(height - thickness, 0.0))
