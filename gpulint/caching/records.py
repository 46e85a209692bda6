"""Findings, and what files gave, as plain lists for JSON, and back."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from gpulint.confidence import Confidence
from gpulint.linting.examined import Candidate, Examined
from gpulint.linting.finding import Finding, Related, Severity, Silenced
from gpulint.linting.result import CheckResult
from gpulint.places import Site, Span
from gpulint.rewriting.fix import Applicability, Edit, Fix
from gpulint.sources.modules import Lookup
from gpulint.sources.states import MadeFrom

Plain = Any
"""What JSON can hold."""


def of_result(result: CheckResult) -> Plain:
    return [
        [_of_finding(one) for one in result.findings],
        [[_of_finding(finding), reason] for finding, reason in result.suppressed],
        {path: sorted(programs) for path, programs in result.programs.items()},
        result.files,
        result.analysed,
        sorted(result.stopped),
    ]


def to_result(plain: Plain) -> CheckResult:
    found, silenced, programs, files, analysed, stopped = plain
    return CheckResult(
        [_to_finding(one) for one in found],
        [Silenced(_to_finding(one), reason) for one, reason in silenced],
        programs={path: set(several) for path, several in programs.items()},
        files=files,
        analysed=analysed,
        remembered=analysed,
        stopped=_to_stopped(stopped),
    )


def of_examined(one: Examined) -> Plain:
    return [
        one.path,
        [
            [
                _of_finding(candidate.finding),
                candidate.site,
                candidate.places,
                candidate.supersedes,
                candidate.is_all,
                candidate.entry,
                candidate.fault,
                candidate.is_answer,
            ]
            for candidate in one.candidates
        ],
        sorted(one.called),
        _of_places(one.passed),
        sorted(one.reached),
        sorted(one.elsewhere),
        [_of_finding(finding) for finding in one.unreadable],
        one.analysed,
        sorted(one.stopped),
    ]


def to_examined(plain: Plain) -> Examined:
    path, candidates, called, passed, reached, elsewhere, unreadable, analysed, stopped = plain
    return Examined(
        path,
        [
            Candidate(
                _to_finding(finding),
                Site(*site),
                tuple(Site(*place) for place in places),
                tuple(Site(*other) for other in supersedes),
                is_all,
                Site(*entry) if entry is not None else None,
                tuple(fault) if fault is not None else None,
                is_answer,
            )
            for finding, site, places, supersedes, is_all, entry, fault, is_answer in candidates
        ],
        {Site(*site) for site in called},
        {Site(path, node) for path, nodes in passed for node in nodes},
        set(reached),
        set(elsewhere),
        [_to_finding(finding) for finding in unreadable],
        analysed=analysed,
        stopped=_to_stopped(stopped),
    )


def _of_places(places: set[Site]) -> Plain:
    """Places, by their file."""
    nodes: dict[str, list[int]] = defaultdict(list)
    for path, node in sorted(places):
        nodes[path].append(node)
    return list(nodes.items())


def _to_stopped(plain: Plain) -> set[tuple[str, Site]]:
    return {(bound, Site(*site)) for bound, site in plain}


def of_made_from(made_from: MadeFrom) -> Plain:
    return [
        made_from.files,
        [
            [roots, [[*lookup, found] for lookup, found in lookups.items()]]
            for roots, lookups in made_from.lookups.items()
        ],
    ]


def to_made_from(plain: Plain) -> MadeFrom:
    files, lookups = plain
    return MadeFrom(
        files,
        {tuple(roots): {Lookup(name, directory): found for name, directory, found in one} for roots, one in lookups},
    )


def _of_finding(one: Finding) -> Plain:
    fix = one.fix
    return [
        one.code,
        one.name,
        one.severity.value,
        one.span,
        one.message,
        one.why,
        one.instead,
        one.confidence.value,
        [[related.span, related.message] for related in one.related],
        one.context,
        one.fingerprint,
        one.noqa_row,
        fix and [fix.applicability.value, fix.message, [[edit.span, edit.content] for edit in fix.edits], fix.group],
    ]


def _to_finding(plain: Plain) -> Finding:
    code, name, severity, span, message, why, instead, confidence, related, context, fingerprint, row, fix = plain
    return Finding(
        code,
        name,
        Severity(severity),
        Span(*span),
        message,
        why,
        instead,
        Confidence(confidence),
        tuple(Related(Span(*place), text) for place, text in related),
        context,
        fingerprint,
        row,
        _to_fix(*fix) if fix is not None else None,
    )


def _to_fix(applicability: str, message: str, edits: Plain, group: str) -> Fix:
    written = tuple(Edit(Span(*span), content) for span, content in edits)
    return Fix(Applicability(applicability), message, written, group)
