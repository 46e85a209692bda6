"""Comments that silence findings.

`# gpulint: ignore[GPU101] reason` at the end of a line covers its statement, on a line of its own the next statement;
`disable[…]` covers all rows to the matching `enable[…]`, or to the end of its indented block; `file-ignore[…]` covers
the file. `# noqa` and `# noqa: GPU101` cover the statement of their line.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

from gpulint.sources.comments import Comment, comments_of
from gpulint.sources.source import Source

_MENTIONS = re.compile(r"\b(?:(?a:gpulint)\s*:|noqa)", re.IGNORECASE)
"""A text without a match has no suppressions and need not be tokenized."""

DIRECTIVE = re.compile(r"#\s*(?a:gpulint)\s*:\s*(?P<rest>.*)", re.IGNORECASE)
FORM = re.compile(r"(?P<kind>ignore|disable|enable|file-ignore)\s*\[(?P<codes>[^\]]*)\](?P<reason>.*)\Z")
_NOQA = re.compile(r"#\s*noqa(?P<codes>\s*:\s*[A-Za-z]+[0-9]+(?:[,\s]+[A-Za-z]+[0-9]+)*)?", re.IGNORECASE)


MAX_UNKNOWN = 20
"""Maximum number of unknown rules that are reported for one comment."""


@dataclass(frozen=True, slots=True)
class Suppression:
    """A comment: the rule codes that it silences (None for all, by a bare noqa) in rows `first` to `last`.

    `row`, `column` and `end_column` are its place, from 1. In a notebook all rows are relative to a cell.
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

    @property
    def place(self) -> tuple[int, int, int, int, int | None]:
        """Rows and columns of the comment, as those of a `Span`."""
        return self.row, self.column, self.row, self.end_column, self.cell


@dataclass(frozen=True, slots=True)
class Trouble:
    """An invalid suppression comment: `what` is "unknown", "malformed" or "unmatched"."""

    row: int
    column: int
    end_column: int
    what: str
    message: str
    cell: int | None = None

    @property
    def place(self) -> tuple[int, int, int, int, int | None]:
        """Rows and columns of the comment, as those of a `Span`."""
        return self.row, self.column, self.row, self.end_column, self.cell


class Rules(Protocol):
    """The rules that comments can name."""

    def codes(self, word: str, /) -> Sequence[str]:
        """The codes for a code, a prefix of codes such as `GPU1`, or a name; none if there is no such rule."""

    def nearest(self, word: str, /) -> str | None:
        """The code or name closest to a word."""


class Comments(NamedTuple):
    """Valid and invalid suppression comments of a file."""

    suppressions: tuple[Suppression, ...] = ()
    troubles: tuple[Trouble, ...] = ()


def comments_in(sources: Iterable[Source], rules: Rules) -> Comments:
    """Suppression comments of the programs in a file."""
    found = [read_source(source, rules) for source in sources]
    return Comments(
        tuple(one for suppressions, _ in found for one in suppressions),
        tuple(one for _, troubles in found for one in troubles),
    )


def read_source(source: Source, rules: Rules) -> tuple[list[Suppression], list[Trouble]]:
    """All suppressions of a file. Those in a notebook end with their cell, except `file-ignore`."""
    if source.cells is None:
        return read(source.text, rules)
    found: list[Suppression] = []
    troubles: list[Trouble] = []
    lines = source.text.split("\n")
    for piece in source.cells.pieces:
        text = "".join(f"{line}\n" for line in lines[piece.row - 1 : piece.row - 1 + piece.rows])
        own, wrong = read(text, rules)
        by = piece.skipped
        found += [
            replace(one, cell=piece.cell, row=one.row + by, first=one.first + by, last=one.last + by) for one in own
        ]
        troubles += [replace(one, cell=piece.cell, row=one.row + by) for one in wrong]
    return found, troubles


def read(text: str, rules: Rules) -> tuple[list[Suppression], list[Trouble]]:
    """All suppressions of a text."""
    if "#" not in text or not _MENTIONS.search(text):
        return [], []
    comments, starts, last_row = comments_of(text)
    reading = _Reading(rules)
    for comment in comments:
        if (directive := DIRECTIVE.search(comment.text)) is not None:
            reading.directive(comment, directive["rest"].strip())
        if (noqa := _NOQA.search(comment.text)) is not None:
            reading.noqa(comment, noqa["codes"] or "")
    reading.end(starts, last_row)
    return reading.found, reading.troubles


class _Block(NamedTuple):
    """A `disable` comment."""

    comment: Comment
    codes: tuple[str, ...]
    reason: str


class _Reading:
    """The suppressions and troubles of a text, collected comment by comment in their order."""

    def __init__(self, rules: Rules) -> None:
        self.found: list[Suppression] = []
        self.troubles: list[Trouble] = []
        self._rules = rules
        self._open: dict[frozenset[str], list[_Block]] = {}
        """`disable` comments without an `enable` so far, by their codes."""

    def directive(self, comment: Comment, rest: str) -> None:
        """A comment for gpulint; `rest` is what follows `gpulint:`."""
        form = FORM.match(rest)
        names = [name.strip() for name in form["codes"].split(",") if name.strip()] if form else []
        if form is None or not names:
            message = "write `# gpulint: ignore[GPU101] reason`; there is no form without codes"
            self.troubles.append(_trouble(comment, "malformed", message))
            return
        codes = self._known(comment, names)
        if not codes:
            return
        kind, reason = form["kind"], form["reason"].strip()
        if kind == "ignore":
            self.found.append(_suppression(comment, kind, codes, *comment.statement, reason))
        elif kind == "file-ignore":
            self.found.append(_suppression(comment, kind, codes, 1, 1 << 30, reason))
        elif kind == "disable":
            self._open.setdefault(frozenset(codes), []).append(_Block(comment, codes, reason))
        elif same := self._open.get(frozenset(codes)):
            self._close(same.pop(), comment.row)
        else:
            message = "`enable` without a `disable` of the same rules before it"
            self.troubles.append(_trouble(comment, "unmatched", message))

    def noqa(self, comment: Comment, listed: str) -> None:
        """A `noqa` comment; `listed` are its codes, "" for all. Those of other tools are left out."""
        words = listed.replace(":", " ").replace(",", " ").split()
        ours = [code.upper() for code in words if code.upper().startswith("GPU")]
        codes = dict.fromkeys(code for word in ours for code in self._rules.codes(word) or (word,))
        if ours or not words:
            self.found.append(_suppression(comment, "noqa", tuple(codes) or None, *comment.statement))

    def end(self, starts: Iterable[tuple[int, int]], last_row: int) -> None:
        """End each `disable` that is still open with the block around it. `starts` are the rows and indents of logical
        lines."""
        blocks = sorted((block for same in self._open.values() for block in same), key=lambda block: block.comment.row)
        ends = _ends_of_blocks([block.comment for block in blocks], starts)
        for block in blocks:
            self._close(block, ends.get(block.comment.row, last_row))

    def _known(self, comment: Comment, names: Iterable[str]) -> tuple[str, ...]:
        """The codes for names of rules; unknown names are troubles."""
        known: dict[str, None] = {}
        unknown = 0
        for name in dict.fromkeys(names):
            if codes := self._rules.codes(name):
                known |= dict.fromkeys(codes)
            elif (unknown := unknown + 1) <= MAX_UNKNOWN:
                near = self._rules.nearest(name)
                hint = f"; did you mean `{near}`?" if near else ""
                self.troubles.append(_trouble(comment, "unknown", f"there is no rule `{name}`{hint}"))
        return tuple(known)

    def _close(self, block: _Block, last: int) -> None:
        first = block.comment.row
        self.found.append(_suppression(block.comment, "disable", block.codes, first, last, block.reason))


def _ends_of_blocks(comments: Iterable[Comment], starts: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The last row of the indented block around each comment, keyed by the comment's row; none for a block at the end
    of the text. `starts` are the rows and indents of logical lines."""
    ends: dict[int, int] = {}
    inside: list[tuple[int, int]] = []  # heap of (-indent, row): deepest first
    pending = deque(comments)
    for row, indent in starts:
        while pending and pending[0].row < row:
            comment = pending.popleft()
            heappush(inside, (-comment.indent, comment.row))
        while inside and -inside[0][0] > indent:
            ends[heappop(inside)[1]] = row - 1
    return ends


def _suppression(
    comment: Comment, kind: str, codes: tuple[str, ...] | None, first: int, last: int, reason: str = ""
) -> Suppression:
    end = comment.column + len(comment.text)
    return Suppression(comment.row, comment.column, end, kind, codes, first, last, reason)


def _trouble(comment: Comment, what: str, message: str) -> Trouble:
    return Trouble(comment.row, comment.column, comment.column + len(comment.text), what, message)
