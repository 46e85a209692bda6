"""Holding a Capture against what the program is expected to do."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Any

from gpulint.probe.capture.records import Where
from gpulint.probe.checks import (
    configuration,
    copies,
    devices,
    eager,
    fallback,
    growth,
    idle,
    inline,
    input_wait,
    memory,
    placement,
    predictions,
    replicas,
    sight,
    simulated,
    sources,
    spread,
    stated,
    traces,
    xla,
)
from gpulint.probe.checks.needs import with_evidence
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status
from gpulint.probe.expectations.levels import with_levels

CHECKS = (
    sight.check,
    inline.check,
    stated.check,
    predictions.check,
    configuration.check,
    growth.check,
    devices.check,
    spread.check,
    idle.check,
    replicas.check,
    placement.check,
    fallback.check,
    copies.check,
    memory.check,
    input_wait.check,
    eager.check,
    traces.check,
    xla.check,
    sources.check,
    simulated.check,
)
"""Every check, in the order of the report."""

Check = Callable[[Run], Iterator[Expectation]]

WHOLE = frozenset({"strategy-spread", "variables-mirrored", "eager-hot-loop"})
"""Checks that are about a strategy or a loop as a whole, not about the line that explains it."""

OUTSIDE = frozenset({"GPU201", "GPU202", "GPU213"})
"""Rules about what is made outside a scope: any of them explains that replicas do not have the same."""

EAGERLY = frozenset({"GPU506", "GPU508"})
"""Rules about steps that are run eagerly: any of them explains that Python runs many operations in each."""

IDLE = frozenset({"GPU101", "GPU203", "GPU206", "GPU211"})
"""Rules about work that stays on one of several GPUs: any of them explains that others are idle."""

BY_USER = frozenset({"expect", "expect-on", "expect-copies", "expect-traces"})
"""Checks of what the user states: without evidence it is not as stated."""

_ORDER = tuple(Status)


STATED = (inline.check, stated.check)
"""The checks of what the user states."""


def verify(run: Run, checks: Iterable[Check] = CHECKS) -> list[Expectation]:
    """All expectations: broken ones first, then those that the run does not decide, then those that hold.

    A violation that a finding had predicted is told of once, as its confirmation: on the same line, or, where it is
    about something as a whole, by the same rule.
    """
    found = [
        one
        for check in checks
        for one in with_evidence(check(run), run.capture)
        if not run.capture.simulated or one.id not in simulated.UNSAID or one.status is Status.SKIP
    ]
    broken = {(one.code, one.where) for one in found if one.code and one.status is Status.FAIL}
    found = [_as_broken(one, broken) if one.id == "prediction" else one for one in found]
    confirmed = {
        (one.code, one.where) for one in found if one.id == "prediction" and one.status in (Status.FAIL, Status.WARN)
    }
    codes = {code for code, _ in confirmed}
    codes = codes.union(*(alike for alike in (OUTSIDE, EAGERLY) if codes & alike))
    kept = [one for one in found if one.id == "prediction" or not _is_predicted(one, confirmed, codes)]
    return in_order(with_levels(kept, run.settings))


def _is_predicted(one: Expectation, confirmed: Container[tuple[str, Where | None]], codes: Set[str]) -> bool:
    """Whether a confirmed finding says what a check has found."""
    if one.id == "gpu-idle" and one.status in (Status.FAIL, Status.WARN):
        return bool(codes & IDLE)
    return bool(one.code) and ((one.code, one.where) in confirmed or (one.id in WHOLE and one.code in codes))


def in_order(expectations: Iterable[Expectation]) -> list[Expectation]:
    """By status: broken ones first."""
    return sorted(expectations, key=lambda one: _ORDER.index(one.status))


def _as_broken(predicted: Expectation, broken: Container[tuple[str, Where | None]]) -> Expectation:
    """A confirmed prediction, which is an error where the check that it takes the place of says so."""
    if predicted.status is Status.WARN and (predicted.code, predicted.where) in broken:
        return replace(predicted, status=Status.FAIL, level=Level.ERROR)
    return predicted


def status_of_program(end: dict[str, Any], otherwise: int) -> int:
    """The exit status that a shell gives for the program, 124 where it was stopped because it hung or ran too long;
    `otherwise` where nobody saw its end."""
    if end.get("reason") in ("timeout", "hang"):
        return 124
    if end.get("signal"):
        return 128 + int(end["signal"])
    return int(end["status"]) if end.get("status") is not None else otherwise


def exit_status(
    expectations: list[Expectation], end: dict[str, object], strict: bool, faults: Sequence[str] = ()
) -> int:
    """The probe's own status: 0 all well, 1 an expectation of level error is broken, 2 something went wrong in the
    probe itself, 3 what the user stated is inconclusive, or anything is (`strict`), 4 the program failed and nothing
    else did, 124 it was stopped because it hung or ran too long."""
    if end.get("reason") in ("timeout", "hang"):
        return 124
    if any(one.status is Status.FAIL and one.level is Level.ERROR for one in expectations):
        return 1
    if end.get("status") != 0:
        return 4
    if faults:
        return 2
    undecided = {one.id for one in expectations if one.status is Status.INCONCLUSIVE}
    if undecided & BY_USER or (strict and undecided):
        return 3
    return 0
