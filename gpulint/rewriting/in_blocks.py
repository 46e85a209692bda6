"""Converting fixes of a Markdown file's program to edits of its fenced blocks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from gpulint.places import Span
from gpulint.rewriting.fix import Edit, Fix
from gpulint.rewriting.kept import Kept
from gpulint.rewriting.text import edited
from gpulint.sources.markdown import Block


class Blocks:
    """The blocks of a program whose text is `text`."""

    def __init__(self, text: str, blocks: Sequence[Block], kept: Kept) -> None:
        self._rows = text.split("\n")
        self._blocks = blocks
        self._kept = kept

    def placed(self, fix: Fix) -> Fix | None:
        """The fix with the quotation prefix of its block on new rows.

        None if an edit spans blocks or changes rows that are not as written, or if a block would no longer stand alone.
        """
        edits: list[Edit] = []
        by_block: dict[int, list[Edit]] = {}
        for edit in fix.edits:
            index = bisect_right(self._blocks, edit.span.row, key=lambda block: block.row) - 1
            if index < 0 or edit.span.row > self._blocks[index].behind:
                return None
            by_block.setdefault(index, []).append(edit)
        for index in sorted(by_block):
            placed = self._in_block(by_block[index], self._blocks[index])
            if placed is None:
                return None
            edits += placed
        return replace(fix, edits=tuple(edits))

    def _in_block(self, edits: Sequence[Edit], block: Block) -> list[Edit] | None:
        """Edits of the program as edits of a block of the file, None if that is impossible."""
        if block.prefix is None or not all(_is_as_written(edit.span, block, self._rows) for edit in edits):
            return None
        moved = [_moved(edit, 1 - block.row) for edit in edits]
        if not self._kept.is_kept(block.lines, block.row, moved):
            return None
        return _quoted(moved, block, block.prefix) if block.prefix.strip() else list(edits)


def _quoted(edits: Sequence[Edit], block: Block, prefix: str) -> list[Edit] | None:
    """Edits of whole rows of a quotation, for edits of the program with rows counted from the first of the block."""
    lines = [*block.lines, ""]
    path = edits[0].span.path
    found: list[Edit] = []
    for group in _adjacent(edits):
        first, behind = group[0].span.row - 1, max(edit.span.end_row for edit in group)
        old = lines[first:behind]
        text = edited("\n".join(old), [_moved(edit, -first) for edit in group])
        new = text.split("\n")
        same = _same(old, new)
        old, new, row = old[same:], new[same:], block.row + first + same
        same = _same(old[::-1], new[::-1])
        old, new = old[: len(old) - same], new[: len(new) - same]
        if any(line[: len(prefix)].strip() for line in new):
            return None
        quoted = [f"{prefix}{line[len(prefix) :]}".rstrip(" ") + "\n" for line in new]
        found += [
            Edit(Span(path, row + start, 1, row + end, 1), "".join(quoted[begin:behind]))
            for start, end, begin, behind in _differences(old, new)
        ]
    return found


def _adjacent(edits: Sequence[Edit]) -> Iterator[list[Edit]]:
    """The edits in order, grouped where their rows touch."""
    group: list[Edit] = []
    for edit in sorted(edits):
        if group and edit.span.row > group[-1].span.end_row + 1:
            yield group
            group = []
        group.append(edit)
    yield group


def _differences(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Ranges of rows that differ: start and end in the old and the new text. Beyond a size there is one range only."""
    if len(old) * len(new) > MAX_COMPARED:
        return [(0, len(old), 0, len(new))]
    opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(start, end, begin, behind) for tag, start, end, begin, behind in opcodes if tag != "equal"]


MAX_COMPARED = 900
"""Maximum product of the numbers of rows that are compared pairwise."""


def _same(first: Sequence[str], second: Sequence[str]) -> int:
    """Number of equal rows at the start of two texts."""
    pairs = zip(first, second, strict=False)
    return next((index for index, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))


def _is_as_written(span: Span, block: Block, rows: Sequence[str]) -> bool:
    """Whether a span is inside one block without masked magics."""
    last = span.end_row - (span.end_column == 1)
    if max(last, span.row - (span.column == 1)) >= block.behind:
        return False
    return tuple(rows[span.row - 1 : last]) == block.lines[span.row - block.row : last + 1 - block.row]


def _moved(edit: Edit, rows: int) -> Edit:
    span = edit.span
    return replace(edit, span=span._replace(row=span.row + rows, end_row=span.end_row + rows))
