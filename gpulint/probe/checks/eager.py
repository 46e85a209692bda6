"""A training step takes a few calls from Python, not one per operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.agent.steps import FEW
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Steps, Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status, held, undecided, violated
from gpulint.probe.measures.eager_operations import eager_per_step
from gpulint.probe.measures.reasons import is_bookkeeping

_ID = "eager-hot-loop"
_SUBJECT = "eager ops per step"
_EXPECTED = f"at most {FEW}"
_BETWEEN = "decorate what runs between the steps with `tf.function`, too"

SEEN = 2
"""Steps needed: operations before the first do not belong to a step."""

NEEDED = 10
"""Steps needed for a violation: with fewer, many operations may come from the start of epochs."""

MOST = 0.5
"""Share of steps that may follow many operations: the first of each epoch, and after validation."""

SHOWN = 3
"""Operations named as evidence."""


def check(run: Run) -> Iterator[Expectation]:
    """Each kind of training step, by the eager operations between two steps."""
    capture = run.capture
    if not capture.steps:
        return
    for one in capture.steps.values():
        if one.taken < SEEN:
            continue
        if one.busy <= MOST * one.taken:
            yield held(_ID, _SUBJECT, _EXPECTED, f"limit exceeded in {one.busy} of {one.taken} steps", where=one.where)
            continue
        if capture.eager and (ran := eager_per_step(capture)) <= FEW:
            observed = (
                f"{ran:.0f} that compute, and {one.operations / one.busy - ran:.0f} that read variables or do no work"
            )
            yield held(_ID, _SUBJECT, _EXPECTED, observed, where=one.where)
            continue
        if one.taken < NEEDED:
            reason = f"limit exceeded in {one.busy} of {one.taken} steps; {NEEDED} steps are needed"
            yield undecided(_ID, Status.INCONCLUSIVE, _SUBJECT, _EXPECTED, reason, _code(capture, one))
            continue
        hot = _often(capture, one)
        yield violated(
            _ID,
            _SUBJECT,
            _EXPECTED,
            f"{one.operations / one.busy:.0f} in {one.busy} of {one.taken} steps",
            code=_code(capture, one),
            where=one.where,
            evidence=tuple(f"{count:,} × {op}" for op, count in hot.most_common(SHOWN)),
            fix="decorate the step with `tf.function`" if one.name == EAGER_STEP else _BETWEEN,
            level=Level.WARN,
        )


def _often(capture: Capture, steps: Steps) -> Counter[str]:
    """Operations of the file that runs the steps, with at least as many runs."""
    counts = Counter[str]()
    for ran, count in capture.executions.items():
        if _path(ran.where) == _path(steps.where) and not ran.part and not is_bookkeeping(ran.op):
            counts[ran.op] += count
    return Counter({op: count for op, count in counts.items() if count >= steps.busy})


def _path(where: Where | None) -> str:
    return where.path if where is not None else ""


def _code(capture: Capture, steps: Steps) -> str:
    """The rule about the cause of eager steps."""
    if any(call.name.endswith("run_functions_eagerly") and not call.error for call in capture.calls):
        return "GPU506"
    if any(one.eager and not one.traced for one in capture.runs):
        return "GPU207"
    return "GPU508" if steps.name == EAGER_STEP else ""
