"""Fixes of a Markdown file's program as edits of its fenced blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from gpulint.places import Span
from gpulint.rewriting.fix import Edit, Fix
from gpulint.rewriting.text import edited
from gpulint.sources.markdown import Block
from gpulint.sources.source import Source
from gpulint.syntax.embedded import is_kept


def in_blocks(fix: Fix | None, source: Source) -> Fix | None:
    """The fix with what a quotation puts in front of the rows of a block in front of new rows, too.

    None where an edit is not of one block, or not of rows as their author wrote them, or where a block would not be a
    piece of program of its own any more. A fix of a file that is not Markdown is as it was.
    """
    if fix is None or source.blocks is None:
        return fix
    rows = source.text.split("\n")
    edits: list[Edit] = []
    pending = list(fix.edits)
    for block in source.blocks:
        own = [edit for edit in pending if block.row <= edit.span.row <= block.behind]
        placed = _in_block(own, block, rows) if own else []
        if placed is None:
            return None
        pending = [edit for edit in pending if edit not in own]
        edits += placed
    return replace(fix, edits=tuple(edits)) if not pending else None


def _in_block(edits: Sequence[Edit], block: Block, rows: list[str]) -> list[Edit] | None:
    """Edits of the program as edits of a block of the file; None where that cannot be."""
    if block.prefix is None or not all(_is_as_written(edit.span, block, rows) for edit in edits):
        return None
    before = "".join(f"{line}\n" for line in block.lines)
    after = edited(before, [_moved(edit, 1 - block.row) for edit in edits])
    if not is_kept(before, after):
        return None
    if not block.prefix.strip():
        return list(edits)
    old, new = before.split("\n"), after.split("\n")
    width = len(block.prefix)
    if any(line.strip() and line[:width].strip() for line in new):
        return None
    quoted = [f"{block.prefix}{line[width:]}".rstrip(" ") + "\n" for line in new]
    return [
        Edit(Span(edits[0].span.path, block.row + start, 1, block.row + end, 1), "".join(quoted[first:last]))
        for tag, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def _is_as_written(span: Span, block: Block, rows: list[str]) -> bool:
    """Whether a span is of one block, and no magic is masked in its rows."""
    last = span.end_row - (span.end_column == 1)
    if max(last, span.row - (span.column == 1)) >= block.behind:
        return False
    return tuple(rows[span.row - 1 : last]) == block.lines[span.row - block.row : last + 1 - block.row]


def _moved(edit: Edit, rows: int) -> Edit:
    span = edit.span
    return replace(edit, span=span._replace(row=span.row + rows, end_row=span.end_row + rows))
