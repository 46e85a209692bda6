"""Holding a Capture against what the program is expected to do."""

from __future__ import annotations

from gpulint.probe.checks import configuration, memory, placement, predictions, simulated, spread, traces
from gpulint.probe.expectation import Expectation, Level, Run, Status

CHECKS = (
    predictions.check,
    configuration.check,
    spread.check,
    placement.check,
    memory.check,
    traces.check,
    simulated.check,
)
"""Every check, in the order of the report."""

OF_STRATEGIES = frozenset({"strategy-spread", "variables-mirrored"})
"""Checks that are about a strategy as a whole."""

_ORDER = tuple(Status)


def verify(run: Run) -> list[Expectation]:
    """All expectations: broken ones first, then those that the run does not decide, then those that hold.

    A violation that a finding had predicted is told of once, as its confirmation: on the same line, or, where it is
    about a strategy as a whole, by the same rule.
    """
    found = [
        one
        for check in CHECKS
        for one in check(run)
        if not run.capture.simulated or one.id not in simulated.UNSAID or one.status is Status.SKIP
    ]
    confirmed = {
        (one.code, one.where) for one in found if one.id == "prediction" and one.status in (Status.FAIL, Status.WARN)
    }
    codes = {code for code, _ in confirmed}
    kept = [
        one
        for one in found
        if one.id == "prediction"
        or not one.code
        or not ((one.code, one.where) in confirmed or (one.id in OF_STRATEGIES and one.code in codes))
    ]
    return sorted(kept, key=lambda one: _ORDER.index(one.status))


def exit_status(expectations: list[Expectation], end: dict[str, object], strict: bool) -> int:
    """The probe's own status: 0 all well, 1 an expectation of level error is broken, 3 something is inconclusive
    (`strict`), 4 the program failed and nothing else did, 124 it was stopped because it hung or ran too long."""
    if end.get("reason") in ("timeout", "hang"):
        return 124
    if any(one.status is Status.FAIL and one.level is Level.ERROR for one in expectations):
        return 1
    if end.get("status") != 0:
        return 4
    if strict and any(one.status is Status.INCONCLUSIVE for one in expectations):
        return 3
    return 0
