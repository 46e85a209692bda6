"""Suppression comments: which findings they silence, and which comments are wrong or unused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpulint.linting.covering import Covering
from gpulint.linting.finding import Finding, Silenced
from gpulint.linting.own_codes import INVALID, UNUSED
from gpulint.linting.selection import Catalogue, Selection
from gpulint.places import Span
from gpulint.rewriting.fix import Applicability, Edit, Fix
from gpulint.sources import suppressions
from gpulint.sources.source import Source
from gpulint.syntax.parse import unix_text

_OURS = re.compile(r"#\s*(?a:gpulint)\s*:", re.IGNORECASE)
"""The beginning of a suppression comment for gpulint."""


def may_have_directives(sources: Iterable[Source]) -> bool:
    """Whether a file can have suppression comments for gpulint, which can be wrong or unused."""
    return any("gpu" in source.text.lower() for source in sources)


def silence(
    found: list[Finding],
    read: suppressions.Comments,
    sources: Sequence[Source],
    selection: Selection,
    catalogue: Catalogue,
    shown: frozenset[str],
) -> tuple[list[Finding], list[Silenced]]:
    """(findings that stay, findings that a comment silences) of one file, whose programs are `sources`. `shown` are the
    codes whose findings in the file are all in `found`: comments for others may be used."""
    comments, troubles = read
    withheld: set[tuple[int, int, int | None]] = set()
    if not catalogue.is_complete:  # an unknown code can be that of a rule that was not loaded
        withheld = {(one.row, one.column, one.cell) for one in troubles if one.what == "unknown"}
        troubles = tuple(one for one in troubles if one.what != "unknown")
    if not comments and not troubles:
        return found, []
    covering = Covering(comments, found)
    kept: list[Finding] = []
    silenced: list[Silenced] = []
    for finding in found:
        reason = covering.reason(finding)
        if reason is None:
            kept.append(finding)
        else:
            silenced.append(Silenced(finding, reason))
    kept += [
        _about(sources[0].file, one, INVALID, one.message, selection, catalogue)
        for one in troubles
        if INVALID in selection.codes
    ]
    if UNUSED in selection.codes:
        rows = _rows_by_cell(sources)
        for comment in comments:
            if (comment.row, comment.column, comment.cell) not in withheld and _is_unused(comment, covering, shown):
                message = f"suppresses nothing: no finding of {_named(comment)} here"
                finding = _about(sources[0].file, comment, UNUSED, message, selection, catalogue)
                kept.append(replace(finding, fix=_removal(rows[comment.cell], sources[0].file, comment)))
    return kept, silenced


def _is_unused(comment: suppressions.Suppression, covering: Covering, shown: frozenset[str]) -> bool:
    """Whether a comment names rules, all of them `shown`, and covers no finding."""
    return comment.codes is not None and not covering.is_used(comment) and shown.issuperset(comment.codes)


def _named(comment: suppressions.Suppression) -> str:
    """The rules of a comment in words."""
    codes = comment.codes or ()
    return ", ".join(codes) if len(codes) < 4 else f"its {len(codes)} rules"


def _removal(rows: Sequence[str], path: str, comment: suppressions.Suppression) -> Fix | None:
    """The fix that deletes a comment, None if it has other text or another comment in it. `rows` are those of the
    comment's file or cell."""
    row = rows[comment.row - 1]
    start, text = comment.column - 1, row[comment.column - 1 :]
    if comment.kind not in ("ignore", "file-ignore") or "#" in text[1:] or not _OURS.match(text):
        return None
    code = row[:start].rstrip()
    span = Span(path, comment.row, len(code) + 1, comment.row, len(row) + 1, comment.cell)
    if not code:
        span = span._replace(column=1, end_row=comment.row + 1, end_column=1)
        if comment.row == len(rows):
            return None
    return Fix(Applicability.SAFE, "Remove the comment", (Edit(span, ""),))


def _rows_by_cell(sources: Sequence[Source]) -> dict[int | None, Sequence[str]]:
    """The rows of a file (key None) and of each of its cells as written."""
    maps = [source.cells for source in sources if source.cells is not None]
    return {None: unix_text(sources[0]).split("\n"), **{one.cell: one.lines for each in maps for one in each.pieces}}


def _about(
    path: str,
    comment: suppressions.Suppression | suppressions.Trouble,
    code: str,
    message: str,
    selection: Selection,
    catalogue: Catalogue,
) -> Finding:
    rule = catalogue.rule(code)
    assert rule is not None, "the shipped pack has it"
    row = comment.row
    span = Span(path, row, comment.column, row, comment.end_column, comment.cell)
    return Finding(rule.code, rule.name, selection.severity(rule), span, message, rule.why, rule.instead, noqa_row=row)
