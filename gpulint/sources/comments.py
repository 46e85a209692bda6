"""The comments of a file, by tokenizing it."""

from __future__ import annotations

import io
import tokenize
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment: its place (row and column from 1) and whether nothing else is on its line."""

    row: int
    column: int
    text: str
    own_line: bool
    statement: tuple[int, int]
    """The rows of the logical line that it belongs to; for one on a line of its own, of the next."""
    indent: int


def comments_of(text: str) -> tuple[list[Comment], list[tuple[int, int]], int]:
    """The comments of a file, the rows at which logical lines start with their indents, and the last row.

    Text that Python cannot tokenize gives what was read up to there.
    """
    raw: list[tuple[int, int, str, bool, int]] = []
    spans: list[tuple[int, int]] = []
    starts: list[tuple[int, int]] = []
    start: int | None = None
    last_row = 1
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            last_row = max(last_row, token.end[0])
            if token.type == tokenize.COMMENT:
                own = not token.line[: token.start[1]].strip()
                raw.append((token.start[0], token.start[1], token.string, own, len(spans)))
            elif token.type == tokenize.NEWLINE:
                spans.append((start or token.start[0], token.end[0]))
                start = None
            elif (
                token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER) and start is None
            ):
                start = token.start[0]
                starts.append(token.start)
    except (tokenize.TokenError, SyntaxError):
        pass
    comments = []
    for row, column, string, own, index in raw:
        span = spans[index] if index < len(spans) else (row, row)
        inside = span[0] <= row <= span[1]
        statement = span if inside or own else (row, row)
        comments.append(Comment(row, column + 1, string, own, statement, column))
    return comments, starts, last_row
