"""Converting fixes of a notebook's program to edits of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpulint.rewriting.fix import Edit, Fix
from gpulint.rewriting.kept import Kept
from gpulint.sources.cells import CellMap, Piece


class Cells:
    """The cells of a program whose text is `text`."""

    def __init__(self, text: str, cells: CellMap, kept: Kept) -> None:
        self._rows = text.split("\n")
        self._cells = cells
        self._kept = kept

    def placed(self, fix: Fix) -> Fix | None:
        """The fix with edits of cells. None if an edit changes rows that are not as written, or if a cell would no
        longer stand alone: statements whose block header moved to another cell would run without it."""
        edits: list[Edit] = []
        by_piece: dict[Piece, list[Edit]] = {}
        for edit in fix.edits:
            piece = self._cells.piece(edit.span.row)
            placed = self._in_cell(edit, piece)
            if placed is None:
                return None
            edits.append(placed)
            by_piece.setdefault(piece, []).append(placed)
        if not all(self._kept.is_kept(each.lines, each.row - each.skipped, own) for each, own in by_piece.items()):
            return None
        return replace(fix, edits=tuple(edits))

    def _in_cell(self, edit: Edit, piece: Piece) -> Edit | None:
        """The edit in the cell of its first row; None if it leaves that cell."""
        span, content = edit.span, edit.content
        rows = self._rows
        behind = piece.row + piece.rows
        if span.column == 1 and span.row == span.end_row == behind:
            last = rows[behind - 2]  # a row added after the last one of a cell
            span = span._replace(row=behind - 1, column=len(last) + 1, end_row=behind - 1, end_column=len(last) + 1)
            content = "\n" + content.removesuffix("\n")
        elif span.end_column == 1 and span.end_row == behind and span.row > piece.row and span.column == 1:
            span = span._replace(  # rows deleted or replaced, including the last one of the cell
                row=span.row - 1,
                column=len(rows[span.row - 2]) + 1,
                end_row=behind - 1,
                end_column=len(rows[behind - 2]) + 1,
            )
            content = f"\n{content}".removesuffix("\n")
        if not (piece.row <= span.row <= span.end_row < behind and _is_as_written(piece, span.row, span.end_row, rows)):
            return None
        return Edit(self._cells.in_cell(span), content)


def _is_as_written(piece: Piece, first: int, last: int, rows: Sequence[str]) -> bool:
    """Whether rows of the program have no masked magic."""
    start = piece.skipped - piece.row
    return tuple(rows[first - 1 : last]) == piece.lines[start + first : start + last + 1]
