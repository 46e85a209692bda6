"""Fixes of a Markdown file's program as edits of its fenced blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpulint.rewriting.fix import Edit, Fix
from gpulint.rewriting.text import edited
from gpulint.sources.markdown import Block
from gpulint.sources.source import Source
from gpulint.syntax.embedded import is_kept


def in_blocks(fix: Fix | None, source: Source) -> Fix | None:
    """The fix with what a list or quotation puts in front of the rows of a block in front of new rows, too.

    None where an edit is not of one block, or not of rows as their author wrote them. A fix of a file that is not
    Markdown is as it was.
    """
    if fix is None or source.blocks is None:
        return fix
    rows = source.text.split("\n")
    edits = [_in_block(edit, source.blocks, rows) for edit in fix.edits]
    placed = tuple(edit for edit in edits if edit is not None)
    if len(placed) < len(edits) or not all(_stands_alone(block, fix.edits) for block in source.blocks):
        return None
    return replace(fix, edits=placed)


def _stands_alone(block: Block, edits: Sequence[Edit]) -> bool:
    """Whether a block is as much a piece of program of its own with the edits as it was before."""
    own = [_moved(edit, 1 - block.row) for edit in edits if block.row <= edit.span.row <= block.behind]
    text = "".join(f"{line}\n" for line in block.lines)
    return not own or is_kept(text, edited(text, own))


def _moved(edit: Edit, rows: int) -> Edit:
    span = edit.span
    return replace(edit, span=span._replace(row=span.row + rows, end_row=span.end_row + rows))


def _in_block(edit: Edit, blocks: tuple[Block, ...], rows: list[str]) -> Edit | None:
    """The edit in the block of its first row, which must have all of it."""
    span = edit.span
    block = next((one for one in blocks if one.row <= span.row <= one.behind), None)
    if block is None or block.prefix is None:
        return None
    last = span.end_row - (span.end_column == 1)
    """The last row of which something is changed."""
    if max(last, span.row - (span.column == 1)) >= block.behind or not _is_as_written(block, span.row, last, rows):
        return None
    content = _prefixed(edit, block.prefix)
    return replace(edit, content=content) if content is not None else None


def _is_as_written(block: Block, first: int, last: int, rows: list[str]) -> bool:
    """Whether no magic is masked in some rows of the program."""
    return tuple(rows[first - 1 : last]) == block.lines[first - block.row : last + 1 - block.row]


def _prefixed(edit: Edit, prefix: str) -> str | None:
    """The content with a block's prefix in place of the blanks that each new row begins with; None where a row has
    not as many."""
    lines = edit.content.split("\n")
    first = 0 if edit.span.column == 1 else 1
    end = len(lines) - (edit.span.end_column == 1)
    if edit.span.end_column == 1 and lines[-1]:
        return None  # what stands behind it would begin in another column
    for index in range(first, end):
        line = lines[index]
        if line.strip() and not line.startswith(" " * len(prefix)):
            return None
        lines[index] = f"{prefix}{line[len(prefix) :]}" if line.strip() else prefix.rstrip()
    return "\n".join(lines)
