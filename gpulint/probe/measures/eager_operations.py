"""Number of operations that a step runs eagerly."""

from __future__ import annotations

from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.agent.steps import FEW
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.reader import MEASURED
from gpulint.probe.capture.records import Steps
from gpulint.probe.measures.reasons import is_bookkeeping

READ = "ReadVariableOp"
"""Reading a variable: no work, and one for each `v.numpy()`."""

SOME, OFTEN = 0.1, 10
"""Share and number of the steps that follow many eager operations where these belong to the loop: gradients are
accumulated over a few steps. A few times, models may be loaded or created."""


def eager_per_step(capture: Capture) -> float:
    """Eager operations of a step after the warm-up, or of all steps if there are no others."""
    for phases in ({MEASURED}, {phase for phase, _ in capture.eager}):
        steps = sum(capture.taken[phase] for phase in phases)
        if steps:
            ran = sum(
                count
                for (phase, op), count in capture.eager.items()
                if phase in phases and op != READ and not is_bookkeeping(op)
            )
            return ran / steps
    return 0.0


def eager_steps(capture: Capture, rare: bool = True) -> Steps | None:
    """The steps that mostly follow many eager operations, or regularly if `rare`, most frequent first; None if there
    are none."""
    found = [
        one
        for one in capture.steps.values()
        if one.name == EAGER_STEP
        or (
            one.busy
            and one.operations / one.busy > FEW
            and (one.busy > one.taken / 2 or (rare and _is_regular(capture, one)))
        )
    ]
    if eager_per_step(capture) <= FEW:
        return None
    return max(found, key=lambda one: one.taken, default=None)


def _is_regular(capture: Capture, steps: Steps) -> bool:
    """Whether a loop of the program often runs eager operations. What runs between two calls of `fit` is no part of
    one."""
    is_fit = any(one.where == steps.where for one in capture.data)
    return not is_fit and steps.busy >= OFTEN and steps.busy > SOME * steps.taken
