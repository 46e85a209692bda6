"""A training step is a few calls from Python, not an operation at a time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.capture import Capture, Where
from gpulint.probe.expectation import Expectation, Level, Run, Status, held, undecided, violated
from gpulint.probe.reasons import is_bookkeeping

_ID = "eager-hot-loop"
_SUBJECT = "operations that Python runs one by one"
MOST = 20
"""Eager operations for each step that are no sign of trouble: metrics, logging, a schedule."""

NEEDED = 10
"""Steps after the warm-up, below which nothing is said."""

OFTEN = 0.8
"""Times per step that an operation is run which belongs to the step."""


def check(run: Run) -> Iterator[Expectation]:
    """The eager operations on the lines that are run in every step, by step."""
    capture = run.capture
    steps = max(capture.warm_steps.values(), default=0)
    expected = f"at most {MOST} for each step"
    if not capture.steps:
        return
    if steps < NEEDED:
        reason = f"{steps} training steps after the warm-up, {NEEDED} are needed"
        yield undecided(_ID, Status.INCONCLUSIVE, _SUBJECT, expected, reason)
        return
    hot = _in_each_step(capture, steps)
    each = sum(hot.values()) / steps
    if each <= MOST:
        yield held(_ID, _SUBJECT, expected, f"{each:.1f} for each of {steps} steps")
        return
    lines = defaultdict[Where | None, int](int)
    for (where, _), count in hot.items():
        lines[where] += count
    where = max(lines, key=lambda line: lines[line])
    yield violated(
        _ID,
        _SUBJECT,
        expected,
        f"{each:.0f} for each of {steps} steps",
        code=_code(capture),
        where=where,
        evidence=tuple(f"{op}, {count} times" for (_, op), count in hot.most_common(3)),
        fix="decorate the step with `tf.function`",
        level=Level.WARN,
    )


def _in_each_step(capture: Capture, steps: int) -> Counter[tuple[Where | None, str]]:
    """Operations by line and kind, those that were run nearly as often as there were steps.

    What Keras runs for each epoch has the line of the call of `fit`, where it counts only if the steps are eager.
    """
    eager = {where for name, where in capture.steps if name == EAGER_STEP}
    methods = {call.where for call in capture.model_calls} - eager
    counts = Counter[tuple[Where | None, str]]()
    for ran, count in capture.warm_executions.items():
        if not is_bookkeeping(ran.op) and ran.where not in methods:
            counts[ran.where, ran.op] += count
    return Counter({key: count for key, count in counts.items() if count >= OFTEN * steps})


def _code(capture: Capture) -> str:
    """The rule that speaks of what makes the steps eager."""
    if any(call.name.endswith("run_functions_eagerly") and not call.error for call in capture.calls):
        return "GPU506"
    if any(one.eager and not one.traced for one in capture.runs):
        return "GPU207"
    return "GPU508" if any(name == EAGER_STEP for name, _ in capture.steps) else ""
