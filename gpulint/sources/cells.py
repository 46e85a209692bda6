"""Mapping between the rows of a notebook's program and its cells."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from gpulint.places import Span


class Piece(NamedTuple):
    """A cell in a program: its first row in the program, its lines as written, and how many of them are left out at its
    start."""

    row: int
    cell: int
    lines: tuple[str, ...]
    skipped: int = 0

    @property
    def rows(self) -> int:
        return len(self.lines) - self.skipped


@dataclass(frozen=True, slots=True)
class CellMap:
    """The cells of a program, in order. `notebook` is the path of their file."""

    notebook: str
    pieces: tuple[Piece, ...]

    def piece(self, row: int) -> Piece:
        """The piece that contains a row of the program, or the one before it."""
        return self.pieces[max(bisect_right(self.pieces, row, key=lambda piece: piece.row) - 1, 0)]

    def row(self, cell: int, row: int) -> int | None:
        """The program's row for a row of a cell, None if the program leaves it out."""
        for piece in self.pieces:
            if piece.cell == cell:
                return piece.row + row - 1 - piece.skipped if row > piece.skipped else None
        return None

    def in_cell(self, span: Span) -> Span:
        """A span of the program relative to its cell, clipped to the text as written."""
        piece = self.piece(span.row)

        def placed(row: int, column: int) -> tuple[int, int]:
            inner = min(max(row - piece.row, 0) + piece.skipped, len(piece.lines) - 1)
            return inner + 1, min(column, len(piece.lines[inner]) + 1)

        start, end = placed(span.row, span.column), placed(span.end_row, span.end_column)
        return Span(self.notebook, *start, *end, piece.cell)
