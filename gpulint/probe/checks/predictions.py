"""Findings of `gpulint check`, compared with the run."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.linting.finding import Finding, Severity
from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status
from gpulint.probe.measures.failures import failure_of
from gpulint.probe.measures.reached import Reached
from gpulint.probe.measures.reasons import has_gpu
from gpulint.probe.measures.time_words import percent
from gpulint.probe.measures.training_time import training_time
from gpulint.probe.measures.waiting import MODERATE
from gpulint.probe.verdicts import VERDICTS, inputs

_ID = "prediction"

READS = ("GPU501", "GPU502")
"""Rules about reads of tensors."""

SHOWN = 8
"""Limit of findings that were not reached and are named."""


def check(run: Run) -> Iterator[Expectation]:
    """Each finding: confirmed, refuted, or neither; those that a program which failed did not reach, together."""
    reached, failed = Reached(run.capture), failure_of(run.capture) is not None
    missed = []
    for finding in run.findings:
        decide = VERDICTS.get(finding.code)
        said = decide(finding, run.capture) if decide is not None else None
        where = Where(finding.span.path, finding.span.row, finding.span.cell)
        level = Level.ERROR if finding.severity is Severity.ERROR else Level.WARN
        if said is None and failed and not reached.has(finding.span):
            missed.append(f"{where.in_short} {finding.code}")
        elif said is None:
            yield Expectation(
                _ID,
                Status.INCONCLUSIVE,
                Level.WARN,
                finding.message,
                "not confirmed",
                _unjudged(finding, run, reached),
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


def _unjudged(finding: Finding, run: Run, reached: Reached) -> str:
    """Why a finding is neither confirmed nor refuted."""
    is_of_input = finding.code in inputs.VERDICTS
    spans = [finding.span, *(one.span for one in finding.related if is_of_input)]  # the `fit` that reads a loader
    is_on_host = bool(run.capture.simulated) or not has_gpu(run.capture)
    if finding.code in READS and run.capture.steps and is_on_host and reached.has(finding.span):
        return "not seen: NumPy reads tensors in host memory directly; on a GPU, each read waits for the device"
    if not any(map(reached.ran, spans)):
        return "not exercised by this run"
    time = training_time(run.capture)
    if not is_of_input or time is None or time.seconds <= 0:
        return "ran, but this run neither confirms nor refutes it"
    share = sum(one.seconds for one in time.waits.values()) / time.seconds
    if share < MODERATE:
        return f"ran, but training did not wait for it ({percent(share)} of the time)"
    return f"ran, and training waited for input {percent(share)} of the time"
