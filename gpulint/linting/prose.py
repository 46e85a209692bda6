"""What authors say of a place in comments and docstrings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from gpulint.linting.rule import Said
from gpulint.places import Site, Span
from gpulint.sources.comments import comments_of
from gpulint.sources.source import Source
from gpulint.syntax import ir
from gpulint.syntax.enclosing import enclosing

_WORD = re.compile(r"[a-z]+")


def is_said(
    said: Said,
    spans: dict[Site, Span],
    source_of: Callable[[str], Source | None],
    syntax_of: Callable[[Source], ir.Module],
) -> bool:
    """Whether a comment or docstring at one of the sites says it."""
    for site in said.sites:
        source = source_of(site.path)
        if source is None or site not in spans:
            continue
        if any(_has(text, said.words) for text in _comments_at(source, spans[site])):
            return True
        (around,) = enclosing(syntax_of(source), [site.node]).values()
        if any(_has(line, said.words) for line in _lines(around) if said.subject in line.lower()):
            return True
    return False


def _has(text: str, words: frozenset[str]) -> bool:
    return not words.isdisjoint(_WORD.findall(text.lower()))


def _lines(definitions: Iterable[ir.FunctionDef | ir.ClassDef]) -> list[str]:
    return [line for one in definitions for line in (one.docstring or "").splitlines()]


def _comments_at(source: Source, span: Span) -> list[str]:
    """The comment at the end of the place's line, and those on the lines right above it."""
    comments = {comment.row: comment for comment in comments_of(source.text)[0]}
    found = [comments[span.end_row].text] if span.end_row in comments else []
    if (above := comments.get(span.row)) is not None:
        found.append(above.text)
    row = span.row - 1
    while (above := comments.get(row)) is not None and above.own_line:
        found.append(above.text)
        row -= 1
    return found
