"""Where one process spends the time of a step: what shows which of several workers is slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.reader import MEASURED
from gpulint.probe.measures.training_time import CHECKPOINT, LAUNCH, PYTHON, training_time


class Pace(NamedTuple):
    """Median seconds of a process per step: in the step function, and in Python between two steps."""

    steps: int
    inside: float
    between: float


def pace(capture: Capture) -> Pace:
    """Pace of the steps after the warm-up; zeros if there are none."""
    time = training_time(capture) if capture.segments else None
    if time is None:
        paces = capture.paces  # captures of early releases have no states
        inside = _median([(one.inside, one.steps) for one in paces])
        return Pace(sum(one.steps for one in paces), inside, _median([(one.between, one.steps) for one in paces]))
    began = next((t for t, name in capture.phases if name == MEASURED), float("inf"))
    steps = [one for one in time.steps if one.began >= began]
    inside = _median([(one.seconds.get(LAUNCH, 0.0), 1) for one in steps])
    between = _median([(one.seconds.get(PYTHON, 0.0) + one.seconds.get(CHECKPOINT, 0.0), 1) for one in steps])
    return Pace(capture.taken[MEASURED], inside, between)


def _median(values: Sequence[tuple[float, int]]) -> float:
    """Median of values by their number."""
    left = sum(count for _, count in values) / 2
    for value, count in sorted(values):
        left -= count
        if left <= 0:
            return value
    return 0.0
