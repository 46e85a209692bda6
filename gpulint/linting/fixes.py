"""The fixes of a file's findings, written only where there is something to show."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from gpulint.linting.finding import Finding
from gpulint.places import Span
from gpulint.rewriting.fix import Fix, Offer
from gpulint.rewriting.writing import draft_of, written
from gpulint.sources.source import Source


def with_fixes(
    findings: Sequence[Finding],
    offers: Mapping[tuple[Span, str], Offer | None],
    source: Source,
    fixable: Collection[str],
) -> tuple[list[Finding], list[tuple[str, str]]]:
    """The findings with their fixes, and the faults of rules that failed to write one, with tracebacks.

    `offers` are what the rules offer, by span and code; findings of other rules than those that are `fixable` lose
    theirs.
    """
    wanted = {(one.span, one.code) for one in findings if one.code in fixable and offers.get((one.span, one.code))}
    draft = draft_of(source) if wanted else None
    result: list[Finding] = []
    errors: list[tuple[str, str]] = []
    for finding in findings:
        fix: Fix | None = finding.fix if finding.code in fixable else None
        offer = offers.get((finding.span, finding.code))
        if draft is not None and offer is not None and finding.code in fixable:
            try:
                fix = written(offer, draft)
            except Exception as error:  # a fault of one fix leaves its finding as it is
                message = f"{source.path}: the fix of {finding.code} failed: {type(error).__name__}: {error}"
                errors.append((message, traceback.format_exc()))
        result.append(replace(finding, fix=fix))
    return result, errors
