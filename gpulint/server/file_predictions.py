"""Predictions for a file in the editor: for its program, and for those that a notebook's cells write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpulint.analysis import Project
from gpulint.server.predictions import Answer, Hint, Predictions, predict
from gpulint.sources.source import Source
from gpulint.syntax.parse import CannotParse


@dataclass(frozen=True, slots=True)
class FilePredictions:
    """Predictions by place: row and column of the file, or of a cell of it."""

    programs: tuple[Predictions, ...]

    def at(self, cell: int | None, row: int, column: int) -> Answer | None:
        """Answer about the value or call at a place; None if nothing is known."""
        answers = (one.at(row, column, cell) for one in self.programs)
        return next((answer for answer in answers if answer is not None), None)

    def hints(self, cell: int | None) -> Iterator[Hint]:
        """The hints of the file or of one of its cells."""
        return (hint for one in self.programs for hint in one.hints if hint.span.cell == cell)


def predictions_of(programs: Sequence[Source], project: Project, target: str) -> FilePredictions:
    """Predictions for a file's programs, without those that cannot be parsed."""
    found = []
    for source in programs:
        try:
            predicted = predict(source, project, target)
        except CannotParse:
            continue
        found.append(predicted.shown(source.cells.in_cell) if source.cells is not None else predicted)
    return FilePredictions(tuple(found))
