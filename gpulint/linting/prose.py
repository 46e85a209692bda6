"""Comments and docstrings by which authors justify code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gpulint.linting.rule import Said
from gpulint.places import Site, Span
from gpulint.sources.comments import Comment, comments_of
from gpulint.sources.source import Source
from gpulint.syntax import ir
from gpulint.syntax.enclosing import Definitions, Enclosing

_WORD = re.compile(r"[a-z]+")

MAX_LINES = 100
"""Maximum number of comment lines above a place that are read."""


class Prose:
    """The comments and docstrings of a run's files; `source_of` and `syntax_of` give a file by its path."""

    def __init__(self, source_of: Callable[[str], Source | None], syntax_of: Callable[[str], ir.Module | None]) -> None:
        self._source_of = source_of
        self._syntax_of = syntax_of
        self._comments: dict[str, dict[int, Comment]] = {}
        self._enclosing: dict[str, Enclosing | None] = {}
        self._docstrings: dict[tuple[str, int, str, frozenset[str]], bool] = {}

    def has(self, said: Said, spans: dict[Site, Span]) -> bool:
        """Whether a comment or docstring at one of the sites has the words."""
        return any(self._has_at(said, site, spans[site]) for site in said.sites if site in spans)

    def _has_at(self, said: Said, site: Site, span: Span) -> bool:
        if any(_has(text, said.words) for text in _comments_at(self._comments_of(site.path), span)):
            return True
        return any(self._has_docstring(said, definition, site.path) for definition in self._around(site))

    def _has_docstring(self, said: Said, definition: ir.FunctionDef | ir.ClassDef, path: str) -> bool:
        key = (path, definition.number, said.subject, said.words)
        if key not in self._docstrings:
            lines = (definition.docstring or "").splitlines()
            self._docstrings[key] = any(_has(line, said.words) for line in lines if said.subject in line.lower())
        return self._docstrings[key]

    def _around(self, site: Site) -> Definitions:
        if site.path not in self._enclosing:
            syntax = self._syntax_of(site.path)
            self._enclosing[site.path] = Enclosing(syntax) if syntax is not None else None
        found = self._enclosing[site.path]
        return found.of(site.node) if found is not None else ()

    def _comments_of(self, path: str) -> dict[int, Comment]:
        """The comments of a file by row."""
        if path not in self._comments:
            source = self._source_of(path)
            comments = comments_of(source.text)[0] if source is not None else []
            self._comments[path] = {comment.row: comment for comment in comments}
        return self._comments[path]


def _has(text: str, words: frozenset[str]) -> bool:
    return not words.isdisjoint(_WORD.findall(text.lower()))


def _comments_at(comments: Mapping[int, Comment], span: Span) -> list[str]:
    """The comments at the ends of a place's first and last row, and those on the rows right above it."""
    found = [comments[span.end_row].text] if span.end_row in comments else []
    if (above := comments.get(span.row)) is not None:
        found.append(above.text)
    row = span.row - 1
    while (above := comments.get(row)) is not None and above.own_line and len(found) < MAX_LINES:
        found.append(above.text)
        row -= 1
    return found
