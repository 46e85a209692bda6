"""Whether a cell or block still stands alone after edits."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from gpulint.rewriting.draft import Draft, is_always
from gpulint.rewriting.fix import Edit
from gpulint.rewriting.text import edited
from gpulint.sources.magics import code_of
from gpulint.syntax import ir
from gpulint.syntax.embedded import error_in, is_kept
from gpulint.syntax.walk import within

MAX_PARSED = 1_000_000
"""Maximum number of characters parsed for all fixes of a program; further fixes are refused."""


class Kept:
    """Checks the fixes of one program.

    Parsing a whole cell for each of its fixes would take quadratic time: the changed statements are parsed alone, the
    whole cell only if that is not conclusive, or without a draft.
    """

    def __init__(self, draft: Draft | None = None) -> None:
        self._draft = draft
        self._parsed = 0
        self._begins: list[tuple[int, int, ir.Statement]] = []
        self._margins: list[int] = []
        if draft is not None:
            nodes = (one for statement in draft.module.body for one in within(statement))
            statements = [one for one in nodes if isinstance(one, ir.Statement)]
            self._begins = sorted((_first_row(draft, one), one.number, one) for one in statements)
            self._margins = _margins(draft)

    def is_kept(self, lines: Sequence[str], row: int, edits: Sequence[Edit]) -> bool:
        """Whether a cell or block with these lines stands alone after the edits, whose rows count from its first line.
        False once `MAX_PARSED` is exceeded."""
        first = min(edit.span.row for edit in edits) - 1
        last = max([first + 1, *(edit.span.end_row - (edit.span.end_column == 1) for edit in edits)])
        inner = self._statements(lines, row, first, last)
        if inner is not None and self._is_like(*self._changed(lines, *inner, edits)):
            return True
        start, end = self._between_margins(lines, row, first, last)
        before, after = self._changed(lines, start, end, edits)
        is_rest = self._has_statement(row, row + start) or self._has_statement(row + end, row + len(lines))
        if self._is_like(before, after) or (is_rest and _margin(after) is None and self._is_python(before)):
            return True
        before, after = self._changed(lines, 0, len(lines), edits)
        return self._is_in_budget(before) and is_kept(before, after)

    def _statements(self, lines: Sequence[str], row: int, first: int, last: int) -> tuple[int, int] | None:
        """The lines of the smallest run of statements in one block that contains some lines, comments aside."""
        draft = self._draft
        if draft is None:
            return None
        begin, end = first, last
        while begin < end and (begin >= len(lines) or _NOTHING.fullmatch(lines[begin])):
            begin += 1
        while begin < end and (end > len(lines) or _NOTHING.fullmatch(lines[end - 1])):
            end -= 1
        end = max(end, begin + 1)
        index = bisect_right(self._begins, row + begin, key=lambda each: each[0]) - 1
        one: ir.Node | None = self._begins[index][2] if index >= 0 else None
        while one is not None:
            if isinstance(one, ir.Statement) and draft.row(draft.end(one)) >= row + begin:
                block = draft.place(one).block
                behind = bisect_right(block, row + end - 1, key=lambda each: _first_row(draft, each))
                start, stop = _first_row(draft, one) - row, draft.row(draft.end(block[behind - 1])) + 1 - row
                if stop >= end and _begins_row(draft, one):
                    return (min(start, first), max(stop, last)) if start >= 0 and stop <= len(lines) else None
            one = draft.parent(one)
        return None

    def _between_margins(self, lines: Sequence[str], row: int, first: int, last: int) -> tuple[int, int]:
        """The lines of the outermost statements that contain some lines."""
        before = bisect_right(self._margins, row + first)
        behind = bisect_left(self._margins, row + last)
        start = max(self._margins[before - 1] - row, 0) if before else 0
        end = self._margins[behind] - row if behind < len(self._margins) else len(lines)
        return start, min(end, len(lines))

    def _has_statement(self, first: int, behind: int) -> bool:
        """Whether an outermost statement begins in a range of rows."""
        return bisect_left(self._margins, first) < bisect_left(self._margins, behind)

    def _changed(self, lines: Sequence[str], start: int, end: int, edits: Sequence[Edit]) -> tuple[str, str]:
        """The text of a range of lines before and after the edits."""
        before = "".join(f"{line}\n" for line in lines[start:end])
        moved = [
            replace(one, span=one.span._replace(row=one.span.row - start, end_row=one.span.end_row - start))
            for one in edits
        ]
        return before, edited(before, moved)

    def _is_like(self, before: str, after: str) -> bool:
        """Whether statements can replace others in any block."""
        margin = _margin(before)
        same = margin is not None and margin == _margin(after) and after.endswith("\n")
        return same and self._is_python(before) and self._is_python(after)

    def _is_python(self, text: str) -> bool:
        code = code_of(text) if self._is_in_budget(text) else None
        return code is not None and error_in(code) is None

    def _is_in_budget(self, text: str) -> bool:
        self._parsed += len(text)
        return self._parsed <= MAX_PARSED


_NOTHING = re.compile(r"\s*(?:#.*)?")


def _margin(text: str) -> str | None:
    """The indentation of the first statement of a text, None if there is none."""
    line = next((line for line in text.split("\n") if not _NOTHING.fullmatch(line)), None)
    return line[: len(line) - len(line.lstrip())] if line is not None else None


def _margins(draft: Draft) -> list[int]:
    """The first rows of the outermost statements of a program's cells or blocks; none is shared."""
    statements: list[ir.Statement] = []
    for one in draft.module.body:
        is_header = is_always(one) and draft.part(one) != draft.part(one.body[0])
        statements += one.body if isinstance(one, ir.If) and is_header else [one]
    return [_first_row(draft, one) for one in statements if _begins_row(draft, one)]


def _first_row(draft: Draft, statement: ir.Statement) -> int:
    return draft.row(draft.start(_begin(statement)))


def _begins_row(draft: Draft, statement: ir.Statement) -> bool:
    start = draft.start(_begin(statement))
    return not draft.text[draft.row_start(start) : start].strip()


def _begin(statement: ir.Statement) -> ir.Node:
    """The node at which a statement's text starts: its first decorator, or the statement itself."""
    decorators = statement.decorators if isinstance(statement, ir.FunctionDef | ir.ClassDef) else ()
    return decorators[0] if decorators else statement
