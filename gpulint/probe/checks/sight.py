"""The probe observed the program, without which nothing can pass."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.expectations.expectation import Expectation, Run, Status, undecided

_ID = "evidence"


def check(run: Run) -> Iterator[Expectation]:
    """Whether TensorFlow was imported, and the probe's own failures."""
    capture = run.capture
    if capture.process and not capture.members and not capture.tensorflow:
        reason = "the program did not import TensorFlow, so nothing was checked"
        yield undecided(_ID, Status.INCONCLUSIVE, "the program", "uses TensorFlow", reason)
    for fault in capture.faults:
        yield undecided(_ID, Status.INCONCLUSIVE, "the probe", "works", f"fault: {fault}")
