"""Writing `# gpulint: ignore[…]` comments."""

from __future__ import annotations

import io
import tokenize
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

from gpulint.sources.comments import Comment, comments_of, logical_lines
from gpulint.sources.suppressions import DIRECTIVE, FORM


class CannotIgnore(Exception):
    """The comments cannot be written in this text. The message is one line."""


def with_ignores(text: str, wanted: Iterable[tuple[int, str]], reason: str = "") -> str:
    """The text with comments that silence the (row, rule code) pairs in `wanted`. Raises CannotIgnore.

    A comment goes to the end of its statement, into the brackets of an existing `ignore`, or, if another directive is
    in the way, on a line of its own above. Nothing but comments changes.
    """
    if "\r" in text.replace("\r\n", ""):
        raise CannotIgnore("has line ends of neither Unix nor Windows")
    by_statement: dict[tuple[int, int], list[str]] = {}
    statements = logical_lines(text)
    for row, code in wanted:
        at = bisect_left(statements, row, key=lambda one: one[1])
        if at == len(statements) or row < statements[at][0]:
            raise CannotIgnore(f"there is no statement in row {row}")
        codes = by_statement.setdefault(statements[at], [])
        if code not in codes:
            codes.append(code)
    comments: dict[tuple[int, int], list[Comment]] = defaultdict(list)
    for comment in comments_of(text)[0]:
        comments[comment.statement].append(comment)
    rows = text.split("\n")
    above: dict[int, str] = {}
    for statement, codes in by_statement.items():
        _write(rows, above, statement, comments[statement], codes, reason)
    changed = "\n".join(above[index] + row if index in above else row for index, row in enumerate(rows))
    if _program(changed) != _program(text):
        raise CannotIgnore("the comments would change more than comments")
    return changed


def _write(
    rows: list[str],
    above: dict[int, str],
    statement: tuple[int, int],
    own: list[Comment],
    codes: list[str],
    reason: str,
) -> None:
    """Write a comment into a statement's rows, or into `above`, keyed by the index of the statement's first row."""
    directives = {one: DIRECTIVE.search(one.text) for one in own}
    for comment, directive in directives.items():
        form = FORM.match(directive["rest"].strip()) if directive is not None else None
        if form is not None and form["kind"] == "ignore":
            _widen(rows, comment, form["codes"], codes)
            return
    text = f"# gpulint: ignore[{', '.join(codes)}]" + (f" {reason}" if reason else "")
    first, last = statement
    row = rows[last - 1]
    end = "\r" if row.endswith("\r") else ""
    if any(comment.row == last and directive is not None for comment, directive in directives.items()):
        start = rows[first - 1]
        above[first - 1] = f"{start[: len(start) - len(start.lstrip())]}{text}{end}\n"
    else:
        rows[last - 1] = f"{row.rstrip()}  {text}{end}"


def _widen(rows: list[str], comment: Comment, present: str, codes: list[str]) -> None:
    """Append codes to the list in a comment."""
    row = rows[comment.row - 1]
    head, old = row[: comment.column - 1], row[comment.column - 1 :]
    listed = f"[{present}]"
    kept = [present.strip().rstrip(",")] if present.strip(" ,") else []
    rows[comment.row - 1] = head + old.replace(listed, f"[{', '.join([*kept, *codes])}]", 1)


def _program(text: str) -> list[tuple[int, str]]:
    """The tokens of the text without comments. Raises CannotIgnore."""
    try:
        return [
            (token.type, token.string.rstrip("\r\n") if token.type == tokenize.NEWLINE else token.string)
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type not in (tokenize.COMMENT, tokenize.NL)
        ]
    except (tokenize.TokenError, SyntaxError) as error:
        raise CannotIgnore(f"Python cannot read it: {error}") from None


def one_line(reason: str) -> str:
    """A reason as text of a comment. Raises CannotIgnore."""
    if not reason.isprintable():
        raise CannotIgnore("the reason must be one line of printable text")
    return reason.strip()
