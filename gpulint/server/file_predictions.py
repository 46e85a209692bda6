"""Predictions for a file in the editor: for its program, and for those that a notebook's cells write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpulint.analysis import Project
from gpulint.places import Span
from gpulint.server.predictions import Hint, Predictions, predict
from gpulint.sources.source import Source
from gpulint.syntax.parse import CannotParse


class FilePredictions:
    """Predictions by place: row and column of the file, or of a cell of it."""

    def __init__(self, parts: Sequence[tuple[Source, Predictions]]) -> None:
        self._parts = parts

    def at(self, cell: int | None, row: int, column: int) -> tuple[Span, list[str]] | None:
        """What is known about the value or call at a place, with its extent; None if that is nothing."""
        for source, predictions in self._parts:
            inner = row if source.cells is None or cell is None else source.cells.row(cell, row)
            if inner is not None and (found := predictions.at(inner, column)) is not None:
                return _shown(source, found[0]), found[1]
        return None

    def hints(self, cell: int | None) -> Iterator[Hint]:
        """The hints of the file or of one of its cells."""
        for source, predictions in self._parts:
            for hint in predictions.hints:
                span = _shown(source, hint.span)
                if span.cell == cell:
                    yield replace(hint, span=span)


def _shown(source: Source, span: Span) -> Span:
    return source.cells.in_cell(span) if source.cells is not None else span


def predictions_of(programs: Sequence[Source], project: Project, target: str) -> FilePredictions:
    """Predictions for a file's programs, without those that cannot be parsed."""
    parts = []
    for source in programs:
        try:
            parts.append((source, predict(source, project, target)))
        except CannotParse:
            continue
    return FilePredictions(parts)
