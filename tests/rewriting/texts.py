"""Edits of a text, located by the text at their place."""

from __future__ import annotations

from collections.abc import Callable

from gpulint.places import Site
from gpulint.rewriting.draft import Draft
from gpulint.rewriting.fix import Edit
from gpulint.rewriting.text import edited
from gpulint.sources.decoding import decode
from gpulint.syntax import ir
from gpulint.syntax.spans import layout
from gpulint.syntax.walk import within

PATH = "program.py"


def draft_of(text: str) -> Draft:
    laid_out = layout(decode(PATH, text.encode()))
    assert laid_out is not None
    return Draft(PATH, laid_out)


def site(draft: Draft, source: str, nth: int = 0) -> Site:
    """The place of the outermost expression or statement with that text."""
    nodes = [one for statement in draft.module.body for one in within(statement)]
    nodes.sort(key=lambda node: (draft.start(node), isinstance(node, ir.Argument), node.number))
    found = [node for node in nodes if draft.source(node) == source and not isinstance(node, ir.Argument)]
    return Site(PATH, found[nth].number)


def call(draft: Draft, source: str) -> Site:
    """The place of the call with that text."""
    nodes = [one for statement in draft.module.body for one in within(statement)]
    return next(Site(PATH, one.number) for one in nodes if isinstance(one, ir.Call) and draft.source(one) == source)


def after(text: str, write: Callable[[Draft], list[Edit]]) -> str:
    """The text after the edits of `write`; it must compile."""
    edits = write(draft_of(text))
    result = edited(text, edits)
    compile(result, PATH, "exec", dont_inherit=True)
    return result
