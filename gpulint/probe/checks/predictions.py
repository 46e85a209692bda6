"""Findings of `gpulint check`, compared with the run."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.linting.finding import Severity
from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status
from gpulint.probe.measures.failures import failure_of
from gpulint.probe.measures.reached import Reached
from gpulint.probe.verdicts import VERDICTS

_ID = "prediction"

SHOWN = 8
"""Limit of findings that were not reached and are named."""


def check(run: Run) -> Iterator[Expectation]:
    """Each finding: confirmed, refuted, or neither; those that a program which failed did not reach, together."""
    reached = Reached(run.capture) if failure_of(run.capture) is not None else None
    missed = []
    for finding in run.findings:
        decide = VERDICTS.get(finding.code)
        said = decide(finding, run.capture) if decide is not None else None
        where = Where(finding.span.path, finding.span.row, finding.span.cell)
        level = Level.ERROR if finding.severity is Severity.ERROR else Level.WARN
        if said is None and reached is not None and not reached.has(finding.span):
            missed.append(f"{where.in_short} {finding.code}")
        elif said is None:
            yield Expectation(
                _ID,
                Status.INCONCLUSIVE,
                Level.WARN,
                finding.message,
                "not confirmed",
                "not exercised by this run",
                finding.code,
                where,
                fix=finding.instead,
            )
        else:
            is_confirmed, observed = said
            broken = Status.FAIL if level is Level.ERROR else Status.WARN
            yield Expectation(
                _ID,
                broken if is_confirmed else Status.PASS,
                level,
                finding.message,
                "not confirmed",
                f"{'confirmed' if is_confirmed else 'refuted'}: {observed}",
                finding.code,
                where,
                fix=finding.instead if is_confirmed else "",
            )
    if missed:
        number = f"{len(missed)} finding{'s' * (len(missed) > 1)}"
        shown = ", ".join(missed[:SHOWN]) + (f" and {len(missed) - SHOWN} others" if len(missed) > SHOWN else "")
        subject, expected = f"{number} after the failure", "reached by the run"
        yield Expectation(_ID, Status.INCONCLUSIVE, Level.WARN, subject, expected, f"not reached: {shown}")
