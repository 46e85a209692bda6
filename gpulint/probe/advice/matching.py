"""Findings of `gpulint check` about a cause that a run shows."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.linting.finding import Finding
from gpulint.probe.advice.advice import Observed
from gpulint.probe.capture.records import Where
from gpulint.probe.verdicts.evidence import NEAR, STEP, is_in


def finding_at(
    observed: Observed, codes: Sequence[str], where: Where | None, reach: Sequence[int] = (0, NEAR, STEP)
) -> Finding | None:
    """The finding of one of these rules at a line: the nearest, else the one whose block or explanation the line is
    in, as many rows away. Of rules about one line, the first code counts."""
    found = [one for one in observed.findings if one.code in codes]
    for rows in reach:
        for one in sorted(found, key=lambda each: codes.index(each.code)):
            if any(is_in(where, span, rows) for span in (one.span, *(near.span for near in one.related))):
                return one
    return None


def finding_of(observed: Observed, codes: Sequence[str]) -> Finding | None:
    """The first finding of the first of these rules that found anything."""
    return min(
        (one for one in observed.findings if one.code in codes), key=lambda one: codes.index(one.code), default=None
    )


def place_of(finding: Finding) -> Where:
    """The line of a finding."""
    return Where(finding.span.path, finding.span.row, finding.span.cell)


def sentence(text: str) -> str:
    """A phrase as a sentence."""
    text = text.strip()
    return text if text.endswith(".") or not text else f"{text[0].upper()}{text[1:]}."
