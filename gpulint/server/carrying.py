"""Findings that only a wider check knows, kept while a text is edited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpulint.linting.finding import Finding, Related
from gpulint.places import Span
from gpulint.rewriting.text import rows_of
from gpulint.sources.row_diff import differences


class Rows:
    """Which rows of one text are those of another. Rows count from 1."""

    def __init__(self, before: str, after: str) -> None:
        old, new = rows_of(before), rows_of(after)
        self._forth: dict[int, int] = {}
        start = first = 0
        for one in [*differences(old, new), None]:
            last = one.first if one is not None else len(old) + 1  # a finding can be on the row after the last one
            self._forth |= {first + index + 1: start + index + 1 for index in range(last - first)}
            if one is not None:
                first, start = one.last, one.end
        self._back = {row: before for before, row in self._forth.items()}

    def forth(self, span: Span) -> Span | None:
        """A span of the old text in the new one, None if one of its rows has changed."""
        return _moved(span, self._forth)

    def back(self, row: int) -> int | None:
        """A row of the new text in the old one, None if it is new."""
        return self._back.get(row)


def _moved(span: Span, rows: dict[int, int]) -> Span | None:
    moved = [rows.get(row) for row in range(span.row, span.end_row + 1)]
    start, end = moved[0], moved[-1]
    if start is None or end is None or moved != list(range(start, start + len(moved))):
        return None
    return span._replace(row=start, end_row=end)


@dataclass(frozen=True, slots=True)
class Baseline:
    """Findings of a narrow check of a text, and those that were shown after a wider one."""

    text: str
    narrow: Sequence[Finding]
    shown: Sequence[Finding]


def carried(baseline: Baseline, text: str, narrow: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings to show for a text: those of the narrow check now, with the difference that the wider one made before.

    Findings that only the wider check had move with their rows, and are dropped with a row that changed.
    """
    then = {one.fingerprint for one in baseline.narrow}
    shown = {one.fingerprint for one in baseline.shown}
    retracted = then - shown
    kept = [one for one in narrow if one.fingerprint not in retracted]
    if not shown <= then:
        rows = Rows(baseline.text, text)
        present = {one.fingerprint for one in kept}
        kept += (
            moved
            for one in baseline.shown
            if one.fingerprint not in then and one.fingerprint not in present
            if (moved := _with_rows(one, rows)) is not None
        )
    return tuple(sorted(kept, key=lambda one: (one.span.row, one.span.column, one.code)))


def _with_rows(finding: Finding, rows: Rows) -> Finding | None:
    span = rows.forth(finding.span)
    if span is None:
        return None
    fix = finding.fix
    if fix is not None:
        spans = [rows.forth(edit.span) for edit in fix.edits]
        edits = [replace(edit, span=moved) for edit, moved in zip(fix.edits, spans, strict=True) if moved is not None]
        fix = replace(fix, edits=tuple(edits)) if len(edits) == len(spans) else None
    related = tuple(_related(finding, rows))
    return replace(finding, span=span, fix=fix, related=related, noqa_row=span.row)


def _related(finding: Finding, rows: Rows) -> Iterator[Related]:
    for one in finding.related:
        span = rows.forth(one.span) if one.span.path == finding.span.path else one.span
        if span is not None:
            yield replace(one, span=span)
