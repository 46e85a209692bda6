"""Fixes of a notebook's program as edits of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpulint.rewriting.fix import Edit, Fix
from gpulint.rewriting.text import edited
from gpulint.sources.cells import CellMap, Piece
from gpulint.sources.source import Source
from gpulint.syntax.embedded import is_kept


def in_cells(fix: Fix | None, source: Source) -> Fix | None:
    """The fix with the places of its edits in cells; None where an edit is not of rows as their author wrote them.

    A fix of a file that is no notebook is as it was.
    """
    if fix is None or source.cells is None:
        return fix
    rows = source.text.split("\n")
    edits = [_in_cell(edit, source.cells, rows) for edit in fix.edits]
    placed = tuple(edit for edit in edits if edit is not None)
    if len(placed) < len(edits) or not all(_stands_alone(piece, placed) for piece in source.cells.pieces):
        return None
    return replace(fix, edits=placed)


def _stands_alone(piece: Piece, edits: Sequence[Edit]) -> bool:
    """Whether a cell is as much a piece of program of its own with the edits as it was before: statements that lost
    the header of their block to another cell would be run without it."""
    own = [edit for edit in edits if edit.span.cell == piece.cell]
    if not own:
        return True
    text = "\n".join(piece.lines)
    return is_kept(text, edited(text, own))


def _in_cell(edit: Edit, cells: CellMap, rows: list[str]) -> Edit | None:
    """The edit in the cell of its first row, which must have all of it."""
    span, content = edit.span, edit.content
    piece = cells.piece(span.row)
    behind = piece.row + piece.rows
    if span.column == 1 and span.row == span.end_row == behind:
        last = rows[behind - 2]  # a row that is added behind the last one of a cell
        span = span._replace(row=behind - 1, column=len(last) + 1, end_row=behind - 1, end_column=len(last) + 1)
        content = "\n" + content.removesuffix("\n")
    elif span.end_column == 1 and span.end_row == behind and span.row > piece.row and span.column == 1:
        span = span._replace(  # rows that are taken out or replaced, the last one of the cell among them
            row=span.row - 1,
            column=len(rows[span.row - 2]) + 1,
            end_row=behind - 1,
            end_column=len(rows[behind - 2]) + 1,
        )
        content = f"\n{content}".removesuffix("\n")
    if not (piece.row <= span.row <= span.end_row < behind and _is_as_written(piece, span.row, span.end_row, rows)):
        return None
    return Edit(cells.in_cell(span), content)


def _is_as_written(piece: Piece, first: int, last: int, rows: list[str]) -> bool:
    """Whether no magic is masked in some rows of the program."""
    start = piece.skipped - piece.row
    return tuple(rows[first - 1 : last]) == piece.lines[start + first : start + last + 1]
