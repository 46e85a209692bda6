"""Comments that silence findings.

`# gpulint: ignore[GPU101] reason` at the end of a line covers its whole statement, on a line of its own the next
one; `disable[…]` covers from there to the matching `enable[…]`, or to the end of its indented block;
`file-ignore[…]` covers the file. `# noqa` and `# noqa: GPU101` are read too, and cover their line's statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from gpulint.sources.comments import Comment, comments_of
from gpulint.sources.source import Source

MENTIONS = re.compile(r"#[^\n]*\b(?:gpulint\s*:|noqa)", re.IGNORECASE)
"""Text without a match has no suppression, and need not be tokenized."""

DIRECTIVE = re.compile(r"#\s*gpulint\s*:\s*(?P<rest>.*)", re.IGNORECASE)
FORM = re.compile(r"(?P<kind>ignore|disable|enable|file-ignore)\s*\[(?P<codes>[^\]]*)\](?P<reason>.*)\Z")
_NOQA = re.compile(r"#\s*noqa(?P<codes>\s*:\s*[A-Za-z]+[0-9]+(?:[,\s]+[A-Za-z]+[0-9]+)*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment: the rule codes that it silences (None: all, for a bare noqa) in rows `first` to `last`.

    `row`, `column` and `end_column` are the place of the comment, from 1. In a notebook all rows are those of a cell.
    """

    row: int
    column: int
    end_column: int
    kind: str
    codes: tuple[str, ...] | None
    first: int
    last: int
    reason: str = ""
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """A comment that means to suppress and cannot: `what` is "unknown", "malformed" or "unmatched"."""

    row: int
    column: int
    end_column: int
    what: str
    message: str
    cell: int | None = None


def read_source(source: Source, resolve: Callable[[str], str | None]) -> tuple[list[Suppression], list[Trouble]]:
    """All suppressions of a file. Those of a notebook's cell end with it, but for `file-ignore`."""
    if source.cells is None:
        return read(source.text, resolve)
    found: list[Suppression] = []
    troubles: list[Trouble] = []
    lines = source.text.split("\n")
    for piece in source.cells.pieces:
        text = "".join(f"{line}\n" for line in lines[piece.row - 1 : piece.row - 1 + piece.rows])
        own, wrong = read(text, resolve)
        by = piece.skipped
        found += [
            replace(one, cell=piece.cell, row=one.row + by, first=one.first + by, last=one.last + by) for one in own
        ]
        troubles += [replace(one, cell=piece.cell, row=one.row + by) for one in wrong]
    return found, troubles


def read(text: str, resolve: Callable[[str], str | None]) -> tuple[list[Suppression], list[Trouble]]:
    """All suppressions of a text; `resolve` turns a code or name into a code, None where there is no such rule."""
    if not MENTIONS.search(text):
        return [], []
    found: list[Suppression] = []
    troubles: list[Trouble] = []
    open_blocks: list[tuple[Comment, tuple[str, ...], str]] = []
    comments, dedents, last_row = comments_of(text)
    for comment in comments:
        if (directive := DIRECTIVE.search(comment.text)) is not None:
            _directive(comment, directive["rest"].strip(), resolve, found, troubles, open_blocks)
        if (noqa := _NOQA.search(comment.text)) is not None:
            listed = re.findall(r"[A-Za-z]+[0-9]+", noqa["codes"] or "")
            ours = tuple(code.upper() for code in listed if code.upper().startswith("GPU"))
            if ours or not listed:
                found.append(_made(comment, "noqa", ours or None, *comment.statement))
    for comment, codes, reason in open_blocks:
        end = min(
            (row - 1 for row, indent in dedents if row > comment.row and indent < comment.indent),
            default=None,
        )
        found.append(_made(comment, "disable", codes, comment.row, end or last_row, reason))
    return found, troubles


def _directive(
    comment: Comment,
    rest: str,
    resolve: Callable[[str], str | None],
    found: list[Suppression],
    troubles: list[Trouble],
    open_blocks: list[tuple[Comment, tuple[str, ...], str]],
) -> None:
    form = FORM.match(rest)
    names = [name.strip() for name in form["codes"].split(",") if name.strip()] if form else []
    if form is None or not names:
        message = "write `# gpulint: ignore[GPU101] reason`; there is no form without codes"
        troubles.append(_trouble(comment, "malformed", message))
        return
    codes: list[str] = []
    for name in names:
        code = resolve(name)
        if code is None:
            troubles.append(_trouble(comment, "unknown", f"there is no rule `{name}`"))
        else:
            codes.append(code)
    if not codes:
        return
    kind, reason = form["kind"], form["reason"].strip()
    if kind == "ignore":
        found.append(_made(comment, kind, tuple(codes), *comment.statement, reason))
    elif kind == "file-ignore":
        found.append(_made(comment, kind, tuple(codes), 1, 1 << 30, reason))
    elif kind == "disable":
        open_blocks.append((comment, tuple(codes), reason))
    else:
        match = next((block for block in reversed(open_blocks) if set(block[1]) == set(codes)), None)
        if match is None:
            troubles.append(_trouble(comment, "unmatched", "`enable` without a `disable` of the same rules before it"))
        else:
            open_blocks.remove(match)
            found.append(_made(match[0], "disable", match[1], match[0].row, comment.row, match[2]))


def _made(
    comment: Comment, kind: str, codes: tuple[str, ...] | None, first: int, last: int, reason: str = ""
) -> Suppression:
    end = comment.column + len(comment.text)
    return Suppression(comment.row, comment.column, end, kind, codes, first, last, reason)


def _trouble(comment: Comment, what: str, message: str) -> Trouble:
    return Trouble(comment.row, comment.column, comment.column + len(comment.text), what, message)
