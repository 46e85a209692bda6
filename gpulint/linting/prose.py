"""Comments and docstrings by which authors justify code."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import takewhile

from gpulint.linting.rule import JustifyingComment
from gpulint.places import Site, Span
from gpulint.sources.comments import Comment, comments_of, logical_lines
from gpulint.sources.source import ReadSource
from gpulint.syntax.enclosing import Definitions, Enclosing

_WORD = re.compile(r"[a-z_]+(?:['’][a-z]+)?")
_CLAUSE_END = re.compile(r"[.,;:!()–—]|\bbut\b|\s-+\s")

_NEGATIONS = frozenset({"cannot", "instead", "neither", "never", "no", "non", "nor", "not", "unlike", "without"})
_DOUBTS = frozenset({"bug", "fix", "fixme", "hack", "todo", "wrong", "xxx"})
"""Words of comments that call the code next to them wrong."""
_BEFORE_END = frozenset({"across", "already", "by", "for", "here", "in", "of", "on", "one", "over", "value"})
"""Words that can follow the one that justifies, where the subject is the statement next to it: `# the global one`."""

MAX_DISTANCE = 2
"""Maximum number of words between the one that justifies and its subject: `the global (summed) batch`."""

MAX_LINES = 100
"""Maximum number of comment lines above a place that are read."""


class Prose:
    """The comments and docstrings of a run's files. `source_of` returns a file by its path, `enclosing_of` the
    definitions around its nodes."""

    def __init__(self, source_of: ReadSource, enclosing_of: Callable[[str], Enclosing | None]) -> None:
        self._source_of = source_of
        self._enclosing_of = enclosing_of
        self._comments: dict[str, _Comments] = {}
        self._enclosing: dict[str, Enclosing | None] = {}

    def reason(self, wanted: JustifyingComment, spans: dict[Site, Span]) -> str | None:
        """The text that justifies the code at one of the sites, None if none does."""
        sites = (site for site in wanted.sites if site in spans)
        return next((text for site in sites for text in self._reasons(wanted, site, spans)), None)

    def _reasons(self, wanted: JustifyingComment, site: Site, spans: dict[Site, Span]) -> Iterator[str]:
        comments, span = self._comments_of(site.path), spans[site]
        yield from (text for text in comments.beside(span) if _justifies(text, wanted, is_beside=True))
        yield from (text for text in comments.above(span) if _justifies(text, wanted))
        if wanted.describes_code:
            for definition in self._around(site):
                lines = (line.strip() for line in (definition.docstring or "").splitlines())
                yield from (line for line in lines if _justifies(line, wanted))

    def _around(self, site: Site) -> Definitions:
        if site.path not in self._enclosing:
            self._enclosing[site.path] = self._enclosing_of(site.path)
        found = self._enclosing[site.path]
        return found.of(site.node) if found is not None else ()

    def _comments_of(self, path: str) -> _Comments:
        if path not in self._comments:
            source = self._source_of(path)
            self._comments[path] = _Comments(source.text if source is not None else "")
        return self._comments[path]


class _Comments:
    """The comments of a file by row."""

    def __init__(self, text: str) -> None:
        self._by_row = {comment.row: comment for comment in comments_of(text)[0]}
        self._lines = logical_lines(text) if self._by_row else []

    def beside(self, span: Span) -> Iterator[str]:
        """Comments at the ends of the rows of a place, and of the last row of its statement."""
        rows = (*range(span.row, min(span.end_row, span.row + MAX_LINES) + 1), self._statement(span)[1])
        for row in dict.fromkeys(rows):
            if (comment := self._by_row.get(row)) is not None and not comment.own_line:
                yield _text(comment)

    def above(self, span: Span) -> Iterator[str]:
        """The comment whose last row is right above a place, and the one right above its statement."""
        for row in dict.fromkeys((span.row, self._statement(span)[0])):
            rows = list(takewhile(self._is_own_line, range(row - 1, max(row - MAX_LINES, 0), -1)))
            if rows:
                yield " ".join(_text(self._by_row[one]) for one in reversed(rows))

    def _is_own_line(self, row: int) -> bool:
        return row in self._by_row and self._by_row[row].own_line

    def _statement(self, span: Span) -> tuple[int, int]:
        """The first and the last row of the logical line of a place."""
        index = bisect_right(self._lines, (span.row, sys.maxsize)) - 1
        first, last = self._lines[index] if index >= 0 else (span.row, span.row)
        return (first, last) if span.row <= last else (span.row, span.end_row)


def _text(comment: Comment) -> str:
    return comment.text.lstrip("#").strip()


def _justifies(text: str, wanted: JustifyingComment, is_beside: bool = False) -> bool:
    """Whether a text says one of the words of the subject, without doubt."""
    lowered = text.lower()
    if not any(word in lowered for word in wanted.words):
        return False
    if "?" in lowered or not _DOUBTS.isdisjoint(_WORD.findall(lowered)):
        return False
    return any(_affirms(clause, wanted, is_beside) for clause in map(_WORD.findall, _CLAUSE_END.split(lowered)))


def _affirms(clause: list[str], wanted: JustifyingComment, is_beside: bool) -> bool:
    if any(word in _NEGATIONS or word.endswith(("n't", "n’t")) for word in clause):
        return False
    for index, word in enumerate(clause):
        if word in wanted.words:
            near = clause[max(index - MAX_DISTANCE - 1, 0) : index + MAX_DISTANCE + 2]
            if not wanted.subjects.isdisjoint(near):
                return True
            if wanted.describes_code and is_beside and (index + 1 == len(clause) or clause[index + 1] in _BEFORE_END):
                return True
    return False
