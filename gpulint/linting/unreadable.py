"""Findings for what could not be analysed: a file, a cell, a block."""

from __future__ import annotations

from gpulint.linting.finding import Finding
from gpulint.linting.own_codes import SYNTAX_ERROR
from gpulint.linting.selection import Catalogue
from gpulint.places import Span
from gpulint.sources.language import is_markdown

MAX_MESSAGE = 1_000
"""Maximum length of a message."""


def unreadable(catalogue: Catalogue, span: Span, message: str, why: str = "", instead: str = "") -> Finding:
    """`why` and `instead` default to the rule's own. Long messages, which can quote a file, are shortened."""
    if len(message) > MAX_MESSAGE:
        message = f"{message[:MAX_MESSAGE]}…"
    rule = catalogue.rule(SYNTAX_ERROR)
    assert rule is not None, "the shipped pack has it"
    if not instead and is_markdown(span.path):
        instead = "check the code blocks of Markdown files with `--extension md`"
    why, instead = why or rule.why, instead or rule.instead
    return Finding(rule.code, rule.name, rule.severity, span, message, why, instead, noqa_row=span.row)


def point(path: str, row: int = 1, column: int = 1) -> Span:
    """The span of one character."""
    return Span(path, row, column, row, column + 1)
