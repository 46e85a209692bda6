"""Applying suppression comments, and reporting those that are wrong or of no use."""

from __future__ import annotations

import re
from dataclasses import replace

from gpulint.linting.finding import Finding
from gpulint.linting.selection import Catalogue, Selection
from gpulint.places import Span
from gpulint.rewriting.fix import Applicability, Edit, Fix
from gpulint.sources import suppressions
from gpulint.sources.source import Source
from gpulint.syntax.parse import unix_text

UNUSED = "GPU002"
TROUBLES = {"unknown": "GPU003", "malformed": "GPU004", "unmatched": "GPU005"}


def silence(
    found: list[Finding], source: Source, selection: Selection, catalogue: Catalogue
) -> tuple[list[Finding], list[Finding]]:
    """(findings that stay, findings that a comment silences)."""
    comments, troubles = suppressions.read(source.text, catalogue.code)
    if not comments and not troubles:
        return found, []
    used: set[suppressions.Suppression] = set()
    kept: list[Finding] = []
    silenced: list[Finding] = []
    for finding in found:
        covering = [comment for comment in comments if _covers(comment, finding)]
        used.update(covering)
        (silenced if covering else kept).append(finding)
    kept += [
        _about(
            source,
            (one.row, one.column, one.end_column),
            TROUBLES[one.what],
            one.message,
            selection,
            catalogue,
        )
        for one in troubles
        if TROUBLES[one.what] in selection.codes
    ]
    if UNUSED in selection.codes:
        for comment in comments:
            if comment not in used and comment.codes is not None and selection.codes.issuperset(comment.codes):
                message = f"suppresses nothing: no finding of {', '.join(comment.codes)} here"
                place = (comment.row, comment.column, comment.end_column)
                finding = _about(source, place, UNUSED, message, selection, catalogue)
                kept.append(replace(finding, fix=_removal(source, comment)))
    return kept, silenced


def _covers(comment: suppressions.Suppression, finding: Finding) -> bool:
    if comment.codes is not None and finding.code not in comment.codes:
        return False
    return comment.first <= finding.span.row <= comment.last or comment.first <= finding.span.end_row <= comment.last


def _removal(source: Source, comment: suppressions.Suppression) -> Fix | None:
    """The fix that takes a comment out; None where other words share it, or another comment belongs to it."""
    rows = unix_text(source).split("\n")
    row = rows[comment.row - 1]
    start, text = comment.column - 1, row[comment.column - 1 :]
    if comment.kind not in ("ignore", "file-ignore") or "#" in text[1:] or not _OURS.match(text):
        return None
    code = row[:start].rstrip()
    span = Span(source.path, comment.row, len(code) + 1, comment.row, len(row) + 1)
    if not code:
        span = span._replace(column=1, end_row=comment.row + 1, end_column=1)
        if comment.row == len(rows):
            return None
    return Fix(Applicability.SAFE, "Remove the comment", (Edit(span, ""),))


_OURS = re.compile(r"#\s*gpulint\s*:", re.IGNORECASE)


def _about(
    source: Source,
    place: tuple[int, int, int],
    code: str,
    message: str,
    selection: Selection,
    catalogue: Catalogue,
) -> Finding:
    rule = catalogue.rule(code)
    assert rule is not None, "the shipped pack has it"
    row, column, end = place
    span = Span(source.path, row, column, row, end)
    return Finding(rule.code, rule.name, selection.severity(rule), span, message, rule.why, rule.instead, noqa_row=row)
