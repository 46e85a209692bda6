"""Applying edits to plain text."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from gpulint.rewriting.fix import Edit, Fix

_LINE_END = re.compile(r"\r\n?|\n")


def chosen(fixes: Iterable[Fix]) -> list[Fix]:
    """The fixes that can be applied together, in the order of the text: their edits do not overlap.

    Equal edits of two fixes (both add the same import) count as one. Of a group only the first is included.
    """
    taken: list[Fix] = []
    edits: set[Edit] = set()
    groups: set[str] = set()
    stretches: dict[int | None, list[tuple[_Point, _Point]]] = defaultdict(list)
    for fix in sorted(fixes, key=lambda fix: [(edit.span, edit.content) for edit in fix.edits]):
        new = [edit for edit in fix.edits if edit not in edits]
        if (fix.group and fix.group in groups) or any(_collides(edit, stretches[edit.span.cell]) for edit in new):
            continue
        taken.append(fix)
        edits.update(new)
        groups.add(fix.group)
        for edit in new:
            insort(stretches[edit.span.cell], _stretch(edit))
    return taken


_Point: TypeAlias = tuple[int, int]
"""Row and column."""


def _stretch(edit: Edit) -> tuple[_Point, _Point]:
    span = edit.span
    return (span.row, span.column), (span.end_row, span.end_column)


def _collides(edit: Edit, stretches: list[tuple[_Point, _Point]]) -> bool:
    """Whether an edit touches one of some sorted, disjoint ranges of the text. Two insertions at one place touch: their
    order is undefined."""
    start, end = _stretch(edit)
    place = bisect_left(stretches, (start, start))
    if place < len(stretches) and (stretches[place][0] == start or stretches[place][0] < end):
        return True
    return place > 0 and stretches[place - 1][1] > start


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with non-overlapping edits applied. New rows get the line ends of the rows around them."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    ends = [match.group() for match in _LINE_END.finditer(text)]
    parts = []
    done = 0
    for edit in sorted(set(edits)):
        span = edit.span
        start = starts[span.row - 1] + span.column - 1
        parts += [text[done:start], edit.content.replace("\n", _line_end_near(ends, span.row))]
        done = starts[span.end_row - 1] + span.end_column - 1
    return "".join([*parts, text[done:]])


def _line_end_near(ends: Sequence[str], row: int) -> str:
    """The line end of a row, else of the last row before it that has one, else a line feed."""
    return ends[min(row, len(ends)) - 1] if ends else "\n"


def rows_of(text: str) -> list[str]:
    """The rows of a text with their line ends, as Python counts them."""
    ends = [match.end() for match in _LINE_END.finditer(text)]
    rows = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return [*rows, text[ends[-1] if ends else 0 :]] if (ends[-1] if ends else 0) < len(text) else rows
