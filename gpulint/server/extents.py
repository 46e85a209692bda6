"""Extents and places, each a row and a column from 1."""

from __future__ import annotations

from gpulint.places import Span


def overlaps(span: Span, first: tuple[int, int], last: tuple[int, int]) -> bool:
    """Whether a span touches the range between two places (row and column), inclusive."""
    return (span.row, span.column) <= last and first <= (span.end_row, span.end_column)


def contains(span: Span, place: tuple[int, int]) -> bool:
    """Whether a place (row and column) is in a span, or right after it."""
    return overlaps(span, place, place)
