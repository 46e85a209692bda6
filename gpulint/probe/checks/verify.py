"""Runs all checks on a capture."""

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
    forks,
    growth,
    host_reads,
    idle,
    inline,
    input_wait,
    memory,
    peer_wait,
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
    peer_wait.check,
    eager.check,
    host_reads.check,
    traces.check,
    xla.check,
    sources.check,
    forks.check,
    simulated.check,
)
"""Every check, in the order of the report."""

Check = Callable[[Run], Iterator[Expectation]]

WHOLE = frozenset({"strategy-spread", "variables-mirrored", "eager-hot-loop"})
"""Checks of a strategy or a loop as a whole, not of the line that explains it."""

OUTSIDE = frozenset({"GPU201", "GPU202", "GPU213"})
"""Rules about creation outside a scope: each explains that replicas differ."""

EAGERLY = frozenset({"GPU506", "GPU508"})
"""Rules about eager steps: each explains that Python runs many operations per step."""

IDLE = frozenset({"GPU101", "GPU203", "GPU206"})
"""Rules about work that stays on one of several GPUs: each explains that others are idle."""

BY_USER = frozenset({"expect", "expect-on", "expect-copies", "expect-traces"})
"""Checks of what the user states, which needs evidence to be true."""

_ORDER = tuple(Status)


STATED = (inline.check, stated.check)
"""The checks of what the user states."""


def verify(run: Run, checks: Iterable[Check] = CHECKS) -> list[Expectation]:
    """All expectations: violations first, then inconclusive ones, then those that passed.

    A violation that a finding predicted is reported once, as the finding's confirmation. It must be on the line of the
    finding; that of a check of the whole run must be about the rule.
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
    """Whether a confirmed finding covers the result of a check."""
    if one.id == "gpu-idle" and one.status in (Status.FAIL, Status.WARN):
        return bool(codes & IDLE)
    return bool(one.code) and ((one.code, one.where) in confirmed or (one.id in WHOLE and one.code in codes))


def in_order(expectations: Iterable[Expectation]) -> list[Expectation]:
    """Expectations sorted by status, violations first."""
    return sorted(expectations, key=lambda one: _ORDER.index(one.status))


def _as_broken(predicted: Expectation, broken: Container[tuple[str, Where | None]]) -> Expectation:
    """A confirmed prediction, as an error if the check that it replaces is one."""
    if predicted.status is Status.WARN and (predicted.code, predicted.where) in broken:
        return replace(predicted, status=Status.FAIL, level=Level.ERROR)
    return predicted


def status_of_program(end: dict[str, Any], otherwise: int) -> int:
    """The program's exit status as a shell returns it, 124 if it was stopped for a hang or a timeout; `otherwise` if
    its end is missing."""
    if end.get("reason") in ("timeout", "hang"):
        return 124
    if end.get("signal"):
        return 128 + int(end["signal"])
    return int(end["status"]) if end.get("status") is not None else otherwise


def exit_status(
    expectations: list[Expectation], end: dict[str, object], strict: bool, faults: Sequence[str] = ()
) -> int:
    """The probe's exit status: 0 success, 1 a violation of level error, 2 a failure of the probe itself, 3 something
    the user stated is inconclusive, or with `strict` anything, 4 only the program failed, 124 it was stopped for a
    hang or a timeout."""
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
