"""The fixes of a file's findings, written only where there is something to show."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint.linting.finding import Finding
from gpulint.places import Span
from gpulint.rewriting.draft import Draft
from gpulint.rewriting.fix import Offer
from gpulint.rewriting.in_blocks import in_blocks
from gpulint.rewriting.in_cells import in_cells
from gpulint.rewriting.writing import draft_of, written
from gpulint.sources.source import Source


class Offered(NamedTuple):
    """What a rule offers for a finding, if anything, and the path of the program that it is to be written for."""

    offer: Offer | None
    program: str


def with_fixes(
    findings: Sequence[Finding],
    offers: Mapping[tuple[Span, str], Offered],
    sources: Sequence[Source],
    fixable: Collection[str],
) -> tuple[list[Finding], list[tuple[str, str]]]:
    """The findings with their fixes, and the faults of rules that failed to write one, with tracebacks.

    `offers` are what the rules offer, by span and code; `sources` are the programs of the file. Findings of other rules
    than those that are `fixable` lose theirs.
    """
    programs = {source.path: source for source in sources}
    drafts: dict[str, Draft | None] = {}
    result: list[Finding] = []
    errors: list[tuple[str, str]] = []
    for finding in findings:
        fix = in_blocks(finding.fix, sources[0]) if finding.code in fixable else None
        offer, program = offers.get((finding.span, finding.code), _NONE)
        if offer is not None and finding.code in fixable:
            source = programs[program]
            if program not in drafts:
                drafts[program] = draft_of(source)
            draft = drafts[program]
            try:
                fix = in_blocks(in_cells(written(offer, draft), source), source) if draft is not None else None
            except Exception as error:  # a fault of one fix leaves its finding as it is
                message = f"{source.file}: the fix of {finding.code} failed: {type(error).__name__}: {error}"
                errors.append((message, traceback.format_exc()))
        result.append(replace(finding, fix=fix))
    return result, errors


_NONE = Offered(None, "")
