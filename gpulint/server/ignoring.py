"""Where a comment goes that silences a finding."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Sequence

from gpulint.places import Span

_OURS = re.compile(r"#\s*gpulint\s*:\s*ignore\s*\[(?P<codes>[^\]]*)\]", re.IGNORECASE)


def ignore(text: str, lines: Sequence[str], span: Span, code: str) -> tuple[Span, str] | None:
    """The edit, as a place and its new text, that silences `code` for the statement at a span.

    A code joins those of a comment that is there already. None where the text cannot be tokenized up to there.
    """
    row = _row_for_comment(text, span.row)
    if row is None or row > len(lines):
        return None
    line = lines[row - 1]
    comment = _comment_at(text, row)
    if comment is not None and (ours := _OURS.search(line, comment)) is not None:
        place = ours.end("codes") + 1
        return Span(span.path, row, place, row, place), f", {code}" if ours["codes"].strip() else code
    end = len(line.rstrip()) + 1
    return Span(span.path, row, end, row, len(line) + 1), f"  # gpulint: ignore[{code}]"


def _row_for_comment(text: str, row: int) -> int | None:
    """The row of a place, or of the end of its statement where no comment can stand: inside a string, before a
    backslash."""
    inside = False
    for token in _tokens(text):
        (first, _), (last, _) = token.start, token.end
        if token.type in _STRINGS and first <= row < last:
            inside = True
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER) and first >= row:
            continued = text.splitlines()[row - 1].rstrip().endswith("\\") if not inside else True
            return first if continued else row
    return None


_STRINGS = frozenset(
    number
    for name in ("STRING", "FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END", "TSTRING_MIDDLE")
    if (number := getattr(tokenize, name, None)) is not None
)


def _comment_at(text: str, row: int) -> int | None:
    """The column, from 0, at which the comment of a row begins."""
    for token in _tokens(text):
        if token.start[0] > row:
            break
        if token.type == tokenize.COMMENT and token.start[0] == row:
            return token.start[1]
    return None


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    """The tokens of a text, up to what is none."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            found.append(token)
    except (tokenize.TokenError, SyntaxError):
        pass
    return found
