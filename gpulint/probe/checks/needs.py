"""The evidence that each check needs: without it the result is inconclusive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.evidence import (
    BACKEND,
    COPIES,
    DISTRIBUTED_WAITS,
    EAGER_STEPS,
    FUNCTIONS,
    GRAPHS,
    OPERATIONS,
    READS,
    REPLICAS,
    REQUESTED,
    RUNTIME,
    SESSIONS,
    STEP_READS,
    WAITS,
)
from gpulint.probe.expectations.expectation import Expectation, Level, Status

_STEPS = frozenset(
    {"eager-hot-loop", "gpu-idle", "host-growth", "host-reads", "input-wait", "mem-leak", "strategy-spread"}
)
_PLACED = frozenset({"copies", "expect-copies", "expect-on", "gpu-idle", "no-cpu-fallback", "scope-placement"})
_GRAPHS = _PLACED | {"strategy-spread", "variables-mirrored"}

NEEDED = {
    OPERATIONS: _STEPS | _GRAPHS | {"expect-traces", "gpu-idle-held", "retrace", "replica-batch"},
    SESSIONS: _STEPS | _GRAPHS | {"expect-traces", "gpu-idle-held", "replica-batch"},
    BACKEND: _STEPS | _GRAPHS | {"expect-traces", "gpu-idle-held", "replica-batch"},
    RUNTIME: frozenset({"growth-set"}),
    REQUESTED: frozenset({"copies", "scope-placement", "variables-mirrored"}),
    COPIES: frozenset({"copies", "expect-copies", "variables-mirrored"}),
    GRAPHS: _GRAPHS,
    FUNCTIONS: _STEPS | _GRAPHS | {"expect-traces", "retrace"},
    EAGER_STEPS: _STEPS,
    REPLICAS: frozenset({"replica-batch", "replica-inputs"}),
    READS: frozenset({"host-reads"}),
    STEP_READS: frozenset({"host-reads"}),
    WAITS: frozenset({"input-wait"}),
    DISTRIBUTED_WAITS: frozenset({"input-wait", "replica-batch"}),
}
"""Evidence → the checks that need it."""

_OF_LOOPS = frozenset({"copies", "no-cpu-fallback", "variables-mirrored"})
"""Checks that pass if they see nothing of their subject."""

_OF_ABSENCE = frozenset({"gpu-idle", "gpu-idle-held", "strategy-spread"})
"""Checks that fail if they see nothing: without their evidence they cannot fail."""


def lost_for(id: str, capture: Capture) -> str:
    """The lost evidence that a check needs, "" if none."""
    lost = (f"not seen: {what} ({why})" for what, why in capture.lost if id in NEEDED.get(what, ()))
    names = {name for name, _ in capture.steps}
    loops = (one.text for one in capture.loops if id in _OF_LOOPS or (id in _STEPS and one.function in names))
    return next(chain(lost, loops), "")


def with_evidence(found: Iterable[Expectation], capture: Capture) -> list[Expectation]:
    """Results that passed, or failed for lack of something, without their evidence become inconclusive."""
    return [_judged(one, capture) for one in found]


def _judged(one: Expectation, capture: Capture) -> Expectation:
    if one.status is Status.PASS or (one.id in _OF_ABSENCE and one.status in (Status.FAIL, Status.WARN)):
        if reason := lost_for(one.id, capture):
            return replace(one, status=Status.INCONCLUSIVE, level=Level.WARN, observed=reason, evidence=(), fix="")
    return one
