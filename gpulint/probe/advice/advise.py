"""The advice for a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpulint.linting.finding import Finding
from gpulint.probe.advice.advice import Advice, Observed
from gpulint.probe.advice.causes import CAUSES
from gpulint.probe.advice.ranking import ranked
from gpulint.probe.capture.contents import Capture
from gpulint.probe.measures.holders import Held
from gpulint.probe.measures.time_spent import TimeSpent


def advise(
    capture: Capture,
    findings: Sequence[Finding],
    time: TimeSpent | None,
    held: Sequence[Held] = (),
    ignored: Collection[str] = (),
) -> tuple[Advice, ...]:
    """What to change first, at most five changes. `time`: None without training steps, where only what kept the
    program from running is known; `ignored`: causes to leave out."""
    observed = Observed(capture, time or NOTHING, findings, held)
    candidates = (one for cause in CAUSES for one in cause(observed) if one.cause not in ignored)
    return ranked(candidates, observed.time, capture.seconds, is_timed=not capture.simulated)


NOTHING = TimeSpent(
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
"""No training steps."""
