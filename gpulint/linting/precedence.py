"""Which reports of a run give way to others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import replace

from gpulint.linting.examined import Candidate
from gpulint.linting.finding import Finding, Related
from gpulint.linting.selection import Catalogue
from gpulint.places import Site
from gpulint.rewriting.fix import Edit, Fix


def without_guessed(
    candidates: list[Candidate], called: Container[Site], passed: Container[Site], catalogue: Catalogue
) -> list[Candidate]:
    """Candidates without those of functions that were run with unknown arguments although another file calls them and
    the same events occur in its calls: the reports of that file count. Rules with `context_insensitive` are exempt."""
    return [
        one
        for one in candidates
        if one.entry not in called
        or not all(place in passed for place in one.places)
        or catalogue.is_context_insensitive(one.finding.code)
    ]


def without_retracted(candidates: list[Candidate]) -> list[Candidate]:
    """Candidates without those that the same rule retracts for another program, and without the retractions."""
    retracted = {(one.site, one.finding.code) for one in candidates if one.retracts}
    return [one for one in candidates if (one.site, one.finding.code) not in retracted]


def without_explained(candidates: list[Candidate], catalogue: Catalogue) -> list[Candidate]:
    """Candidates without those at places that a rule to which theirs yields reports, and, in a file with an `is_all`
    report, without all others."""
    explained: dict[Site, set[str]] = defaultdict(set)
    all_of: dict[str, Site] = {}
    for one in candidates:
        for site in (one.site, *one.supersedes):
            explained[site].add(one.finding.code)
        if one.is_all:
            all_of[one.site.path] = min(one.site, all_of.get(one.site.path, one.site))
    return [
        one
        for one in candidates
        if explained[one.site].isdisjoint(catalogue.yields_to(one.finding.code))
        and (one.site.path not in all_of or (one.is_all and one.site == all_of[one.site.path]))
    ]


def without_repeated(candidates: list[Candidate], catalogue: Catalogue) -> list[Candidate]:
    """Candidates with only the first of each row for rules that report once per row."""
    first: dict[tuple[object, ...], int] = {}
    for one in candidates:
        column = one.finding.span.column
        first[_row(one.finding)] = min(column, first.get(_row(one.finding), column))
    return [
        one
        for one in candidates
        if not catalogue.is_once_a_row(one.finding.code) or first[_row(one.finding)] == one.finding.span.column
    ]


def _row(finding: Finding) -> tuple[object, ...]:
    return (finding.code, finding.span.path, finding.span.cell, finding.span.row)


ALSO_HERE = "also here"
"""Label of the other places of a finding that is reported once per file."""


def gathered(findings: Iterable[Finding], catalogue: Catalogue) -> list[Finding]:
    """The findings of a file in order of their places; equal ones of a rule that reports once per file are one."""
    first: dict[tuple[str, str], Finding] = {}
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda one: (one.span, one.code)):
        key = (finding.code, finding.message)
        if not catalogue.is_once_a_file(finding.code):
            kept.append(finding)
        elif key in first:
            before = first[key]
            related = (*before.related, Related(finding.span, ALSO_HERE))
            first[key] = replace(before, related=related, fix=_joined(before.fix, finding.fix))
        else:
            first[key] = finding
    return [*kept, *first.values()]


def _joined(fix: Fix | None, more: Fix | None) -> Fix | None:
    """One fix with the edits of two, None if one place cannot be fixed. The second is left out if both change the same
    place in different ways."""
    if fix is None or more is None:
        return None
    if fix.applicability is not more.applicability:
        return fix
    edits = sorted({*fix.edits, *more.edits})
    return fix if any(map(_collide, edits, edits[1:])) else replace(fix, edits=tuple(edits))


def _collide(one: Edit, following: Edit) -> bool:
    """Whether an edit begins before the end of the one before it, or inserts at the same place."""
    first, second = one.span, following.span
    if first.cell != second.cell:
        return False
    begins = (second.row, second.column)
    return begins < (first.end_row, first.end_column) or begins == (first.row, first.column)
