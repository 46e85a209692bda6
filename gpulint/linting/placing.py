"""Giving reports their places: from the node that a rule names to a finding with rows, columns and a fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpulint.confidence import Confidence
from gpulint.linting.dispatch import Raised
from gpulint.linting.examined import Candidate, Examined
from gpulint.linting.finding import Finding, Related
from gpulint.linting.fixes import Writer, Written
from gpulint.linting.prose import Prose
from gpulint.linting.selection import Selection, Selections
from gpulint.linting.workspace import Workspace
from gpulint.places import Site, Span
from gpulint.rewriting.fix import Fix
from gpulint.sources.source import Source
from gpulint.syntax.enclosing import Enclosing


class Placing:
    """Places the reports of a run; with `edits` fixes have their edits."""

    def __init__(self, workspace: Workspace, selections: Selections, edits: bool) -> None:
        self._workspace = workspace
        self._selections = selections
        self._edits = edits
        self._prose = Prose(workspace.files.read, workspace.enclosing)

    def place(self, source: Source, reports: Sequence[tuple[Examined, Raised]]) -> None:
        """Add the candidates that the reports about one program are to the files that gave them, with the suppression
        comments of its file."""
        selection = self._selections.of(source.file)
        off = selection.ignored_in(source.file)
        enclosing = self._workspace.enclosing(source.path)
        spans = self._workspace.spans([site for _, one in reports for site in one.sites])
        in_cells = {site: self._workspace.files.in_cell(span) for site, span in spans.items()}
        writer = Writer(source)
        for part, _ in reports:
            part.comments[source.file] = self._workspace.comments(source.file)
        for part, one in reports:
            report, unless = one.report, one.report.unless
            if one.rule.code in off or report.site not in spans:
                continue
            justified = (self._prose.reason(unless, spans) or "") if unless is not None else ""
            finding = _finding(one, in_cells, enclosing, selection)
            offer: Fix | None = None
            fault: tuple[str, str] | None = None
            if report.fix is not None and one.rule.code in selection.fixable:
                offer = report.fix.unwritten
                written = writer.written(report.fix, one.rule.code) if self._edits else Written(offer)
                fault = written.fault
                finding = replace(finding, fix=written.fix, no_fix=written.refusal)
            part.candidates.append(
                Candidate(
                    finding,
                    report.site,
                    one.places,
                    report.supersedes,
                    report.is_all,
                    one.entry,
                    fault,
                    report.retracts,
                    offer,
                    justified,
                )
            )


def _confidence(raised: Raised, enclosing: Enclosing | None) -> Confidence:
    """Confidence of a finding: that of its report, but `INFERRED` if it shows places in several functions or files."""
    places = [*raised.shown]
    path = raised.report.site.path
    if any(site.path != path for site in places):
        return Confidence.INFERRED
    if enclosing is not None and not frozenset.intersection(*(enclosing.functions_of(site.node) for site in places)):
        return Confidence.INFERRED
    return raised.report.confidence


def _finding(
    raised: Raised,
    spans: Mapping[Site, Span],
    enclosing: Enclosing | None,
    selection: Selection,
) -> Finding:
    rule, report = raised.rule, raised.report
    span = spans[report.site]
    related: dict[Span, Related] = {}
    for site, message in report.related:
        if site in spans and spans[site] != span:  # the finding shows its own place already
            related.setdefault(spans[site], Related(spans[site], message))
    return Finding(
        rule.code,
        rule.name,
        selection.severity(rule, report.severity),
        span,
        report.message,
        report.why or rule.why,
        report.instead or rule.instead,
        _confidence(raised, enclosing),
        tuple(related.values()),
        enclosing.context_of(report.site.node) if enclosing is not None else "",
        noqa_row=span.row,
        cost=report.cost or rule.cost,
    )
