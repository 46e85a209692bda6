"""Whether a cell or block with some edits still is a piece of program of its own."""

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

MAX_PARSED = 1_000_000
"""Maximum number of characters parsed for all fixes of a program; further fixes are refused."""


class Kept:
    """Checks the fixes of one program. Of a cell or block, only the statements that a fix changes are parsed.

    `margins` are the rows in which the outermost statements of cells and blocks begin.
    """

    def __init__(self, margins: Sequence[int] = ()) -> None:
        self._margins = margins
        self._parsed = 0

    def is_kept(self, lines: Sequence[str], row: int, edits: Sequence[Edit]) -> bool:
        """Whether a cell or block with these lines is kept. It begins in a row of the program; the rows of the edits
        count from its first line. False once `MAX_PARSED` is exceeded."""
        if self._parsed > MAX_PARSED:
            return False
        start = min(edit.span.row for edit in edits) - 1
        end = max(edit.span.end_row for edit in edits)
        place = bisect_right(self._margins, row + start)
        start = max(self._margins[place - 1] - row, 0) if place else 0
        place = bisect_left(self._margins, row + end)
        end = min(self._margins[place] - row, len(lines)) if place < len(self._margins) else len(lines)
        before, after = self._changed(lines, start, end, edits)
        goes = all(_NOTHING.fullmatch(line) for line in after.split("\n"))
        stays = self._has_statement(row, row + start) or self._has_statement(row + end, row + len(lines))
        if (goes and not stays) or not _is_python(before):
            before, after = self._changed(lines, 0, len(lines), edits)
        elif goes:
            return True
        return is_kept(before, after)

    def _changed(self, lines: Sequence[str], start: int, end: int, edits: Sequence[Edit]) -> tuple[str, str]:
        """The text of some of the lines before and after the edits."""
        before = "".join(f"{line}\n" for line in lines[start:end])
        self._parsed += len(before)
        moved = [
            replace(one, span=one.span._replace(row=one.span.row - start, end_row=one.span.end_row - start))
            for one in edits
        ]
        return before, edited(before, moved)

    def _has_statement(self, first: int, behind: int) -> bool:
        """Whether a statement begins in some rows of the program."""
        return bisect_left(self._margins, first) < bisect_left(self._margins, behind)


_NOTHING = re.compile(r"\s*(?:#.*)?")


def _is_python(text: str) -> bool:
    code = code_of(text)
    return code is not None and error_in(code) is None


def margins(draft: Draft) -> list[int]:
    """The rows in which the outermost statements of a program's cells or blocks begin, each on a row of its own."""
    statements: list[ir.Statement] = []
    for one in draft.module.body:
        is_header = is_always(one) and draft.part(one) != draft.part(one.body[0])
        statements += one.body if isinstance(one, ir.If) and is_header else [one]
    starts = [draft.start(_begin(one)) for one in statements]
    return [draft.row(each) for each in starts if not draft.text[draft.row_start(each) : each].strip()]


def _begin(statement: ir.Statement) -> ir.Node:
    """The first node of a statement's text: its first decorator, or the statement itself."""
    decorators = statement.decorators if isinstance(statement, ir.FunctionDef | ir.ClassDef) else ()
    return decorators[0] if decorators else statement
