"""The comments of a file, found by tokenizing it."""

from __future__ import annotations

import io
import tokenize
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment: its place (row and column from 1) and whether it is alone on its line."""

    row: int
    column: int
    text: str
    own_line: bool
    statement: tuple[int, int]
    """The rows of its logical line; for a comment alone on its line, of the next one."""
    indent: int


def comments_of(text: str) -> tuple[list[Comment], list[tuple[int, int]], int]:
    """The comments of a file, the first rows of logical lines with their indents, and the last row.

    For text that Python cannot tokenize, what precedes the error.
    """
    read = _scanned(text)
    comments = []
    for row, column, string, own, index in read.comments:
        span = read.lines[index] if index < len(read.lines) else (row, row)
        inside = span[0] <= row <= span[1]
        statement = span if inside or own else (row, row)
        comments.append(Comment(row, column + 1, string, own, statement, column))
    return comments, read.starts, read.last_row


def logical_lines(text: str) -> list[tuple[int, int]]:
    """The first and last row of each logical line, up to where Python cannot tokenize the text."""
    return _scanned(text).lines


@dataclass(slots=True)
class _Scanned:
    """`comments` are (row, column from 0, text, whether alone on its line, number of logical lines before it)."""

    comments: list[tuple[int, int, str, bool, int]] = field(default_factory=list)
    lines: list[tuple[int, int]] = field(default_factory=list)
    starts: list[tuple[int, int]] = field(default_factory=list)
    last_row: int = 1


_MAX_STRANGE = 1_000_000
"""Maximum sum of row lengths over all invalid tokens: before Python 3.12 each takes a search of its row."""


def _scanned(text: str) -> _Scanned:
    read = _Scanned()
    start: int | None = None
    strange = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            read.last_row = max(read.last_row, token.end[0])
            if token.type == tokenize.ERRORTOKEN and (strange := strange + len(token.line)) > _MAX_STRANGE:
                break
            if token.type == tokenize.COMMENT:
                own = not token.line[: token.start[1]].strip()
                read.comments.append((token.start[0], token.start[1], token.string, own, len(read.lines)))
            elif token.type == tokenize.NEWLINE:
                read.lines.append((start or token.start[0], token.end[0]))
                start = None
            elif (
                token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER) and start is None
            ):
                start = token.start[0]
                read.starts.append(token.start)
    except (tokenize.TokenError, SyntaxError):
        pass
    return read


def without_comments(text: str) -> str:
    """A text without its comments, and without the strings that are statements of their own (docstrings).

    What follows a place that Python cannot tokenize is kept.
    """
    rows = text.split("\n")
    for (row, column), (end_row, end_column) in reversed(_asides(text)):
        if row <= len(rows) and end_row <= len(rows):
            rows[row - 1 : end_row] = [rows[row - 1][:column] + rows[end_row - 1][end_column:]]
    return "\n".join(rows)


_Range = tuple[tuple[int, int], tuple[int, int]]
"""Start and end: rows from 1, columns from 0."""


def _asides(text: str) -> list[_Range]:
    """Places of the comments of a text, and of the strings that are statements of their own, in order."""
    found: list[_Range] = []
    strings: list[_Range] = []
    is_string = True
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="\n").readline):
            place = (token.start, token.end)
            if token.type == tokenize.COMMENT:
                found.append(place)
            elif token.type == tokenize.STRING:
                strings.append(place)
            elif token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
                found += strings if is_string else ()
                strings, is_string = [], True
            elif token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                is_string = False
    except (tokenize.TokenError, SyntaxError):
        pass
    return sorted(found)
