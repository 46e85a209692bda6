"""Which cell of a notebook a row of its program is."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from gpulint.places import Span


class Piece(NamedTuple):
    """A cell's part of a program: the row of the program at which it begins, the cell's lines as they were written,
    and how many of those are left out at its beginning."""

    row: int
    cell: int
    lines: tuple[str, ...]
    skipped: int = 0

    @property
    def rows(self) -> int:
        return len(self.lines) - self.skipped


@dataclass(frozen=True, slots=True)
class CellMap:
    """The cells that a program is made of, in order. `notebook` is the path of their file."""

    notebook: str
    pieces: tuple[Piece, ...]

    def piece(self, row: int) -> Piece:
        """The piece in which a row of the program stands, or the one before it."""
        return self.pieces[max(bisect_right(self.pieces, row, key=lambda piece: piece.row) - 1, 0)]

    def row(self, cell: int, row: int) -> int | None:
        """The row of the program that is a row of a cell; None where the program has none of it."""
        for piece in self.pieces:
            if piece.cell == cell:
                return piece.row + row - 1 - piece.skipped if row > piece.skipped else None
        return None

    def in_cell(self, span: Span) -> Span:
        """A span of the program as one of its cell: no further to the right than what its author wrote."""
        piece = self.piece(span.row)

        def placed(row: int, column: int) -> tuple[int, int]:
            inner = min(max(row - piece.row, 0) + piece.skipped, len(piece.lines) - 1)
            return inner + 1, min(column, len(piece.lines[inner]) + 1)

        start, end = placed(span.row, span.column), placed(span.end_row, span.end_column)
        return Span(self.notebook, *start, *end, piece.cell)
