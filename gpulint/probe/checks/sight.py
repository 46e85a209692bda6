"""The probe saw the program: without that nothing is well."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.expectations.expectation import Expectation, Run, Status, undecided

_ID = "evidence"


def check(run: Run) -> Iterator[Expectation]:
    """Whether TensorFlow was imported, and what went wrong in the probe itself."""
    capture = run.capture
    if capture.process and not capture.members and not capture.tensorflow:
        reason = "the program did not import TensorFlow, so nothing was checked"
        yield undecided(_ID, Status.INCONCLUSIVE, "the program", "uses TensorFlow", reason)
    for fault in capture.faults:
        yield undecided(_ID, Status.INCONCLUSIVE, "the probe", "works", f"fault: {fault}")
