"""The advice for a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpulint.linting.finding import Finding
from gpulint.probe.advice.advice import Advice, Observed
from gpulint.probe.advice.causes import FIND_CANDIDATES
from gpulint.probe.advice.ranking import ranked
from gpulint.probe.capture.contents import Capture
from gpulint.probe.measures.holders import Held
from gpulint.probe.measures.time_spent import TimeSpent

FEW = 5
"""Steps of a failed program up to which its times are those of its start."""


def advise(
    capture: Capture,
    findings: Sequence[Finding],
    time: TimeSpent | None,
    held: Sequence[Held] = (),
    ignored: Collection[str] = (),
) -> tuple[Advice, ...]:
    """The changes to make first, at most five. `time` is None without training steps: then only what kept the program
    from running is known, as of a program that failed in its first steps, which show little of what others would take.
    `ignored`: causes to leave out."""
    observed = Observed(capture, time or NO_TRAINING, findings, held)
    candidates = (one for find in FIND_CANDIDATES for one in find(observed) if one.cause not in ignored)
    if (capture.error or capture.end.get("status")) and observed.time.steps < FEW:
        candidates = (one for one in candidates if one.is_urgent)
    return ranked(candidates, observed.time, capture.seconds, is_timed=not capture.simulated)


NO_TRAINING = TimeSpent(
    seconds=0.0,
    steps=0,
    step_median=0.0,
    step_p95=0.0,
    parts=(),
    by_line=(),
    each=(),
    phases=(),
    devices=(),
    operations_per_step=None,
    launch_cost=None,
    tracings=(),
    why_unknown="",
)
"""Time spent in a run without training steps."""
