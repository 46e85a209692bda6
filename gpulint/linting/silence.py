"""Applying suppression comments, and reporting those that are wrong or of no use."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.linting.finding import Finding, Silenced
from gpulint.linting.selection import Catalogue, Selection
from gpulint.places import Span
from gpulint.sources import suppressions
from gpulint.sources.source import Source

UNUSED = "GPU002"
TROUBLES = {"unknown": "GPU003", "malformed": "GPU004", "unmatched": "GPU005"}
ABOUT_COMMENTS = frozenset({UNUSED, *TROUBLES.values()})
"""Codes of findings about suppression comments, which no comment silences."""


def silence(
    found: list[Finding], sources: Sequence[Source], selection: Selection, catalogue: Catalogue
) -> tuple[list[Finding], list[Silenced]]:
    """(findings that stay, findings that a comment silences), of the programs that stand in one file."""
    comments: list[suppressions.Suppression] = []
    troubles: list[suppressions.Trouble] = []
    for source in sources:
        more, wrong = suppressions.read_source(source, catalogue.code)
        comments += more
        troubles += wrong
    if not comments and not troubles:
        return found, []
    used: set[suppressions.Suppression] = set()
    kept: list[Finding] = []
    silenced: list[Silenced] = []
    for finding in found:
        covering = [comment for comment in comments if _covers(comment, finding)]
        used.update(covering)
        if covering:
            silenced.append(Silenced(finding, next((one.reason for one in covering if one.reason), "")))
        else:
            kept.append(finding)
    kept += [
        _about(sources[0].file, one, TROUBLES[one.what], one.message, selection, catalogue)
        for one in troubles
        if TROUBLES[one.what] in selection.codes
    ]
    if UNUSED in selection.codes:
        for comment in comments:
            if comment not in used and comment.codes is not None and selection.codes.issuperset(comment.codes):
                message = f"suppresses nothing: no finding of {', '.join(comment.codes)} here"
                kept.append(_about(sources[0].file, comment, UNUSED, message, selection, catalogue))
    return kept, silenced


def _covers(comment: suppressions.Suppression, finding: Finding) -> bool:
    if comment.codes is not None and finding.code not in comment.codes:
        return False
    if comment.cell != finding.span.cell and comment.kind != "file-ignore":
        return False
    return comment.first <= finding.span.row <= comment.last or comment.first <= finding.span.end_row <= comment.last


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
