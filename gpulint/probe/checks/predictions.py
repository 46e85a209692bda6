"""Findings of `gpulint check`, compared with the run."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.linting.finding import Severity
from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status
from gpulint.probe.verdicts import VERDICTS

_ID = "prediction"


def check(run: Run) -> Iterator[Expectation]:
    """Each finding: confirmed, refuted, or neither."""
    for finding in run.findings:
        decide = VERDICTS.get(finding.code)
        said = decide(finding, run.capture) if decide is not None else None
        where = Where(finding.span.path, finding.span.row, finding.span.cell)
        level = Level.ERROR if finding.severity is Severity.ERROR else Level.WARN
        if said is None:
            yield Expectation(
                _ID,
                Status.INCONCLUSIVE,
                Level.WARN,
                finding.message,
                f"not {finding.name}",
                "this run shows neither that nor the contrary",
                finding.code,
                where,
                fix=finding.instead,
            )
            continue
        is_confirmed, observed = said
        broken = Status.FAIL if level is Level.ERROR else Status.WARN
        yield Expectation(
            _ID,
            broken if is_confirmed else Status.PASS,
            level,
            finding.message,
            f"not {finding.name}",
            f"{'confirmed' if is_confirmed else 'refuted'}: {observed}",
            finding.code,
            where,
            fix=finding.instead if is_confirmed else "",
        )
