"""Share of a loop's time spent waiting for input.

The thresholds are those of the TensorFlow profiler (`op_stats_to_input_pipeline_analysis.cc`): above 5 % a program is
moderately, above 20 % highly input-bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Wait, Where
from gpulint.probe.measures.training_time import training_time

HIGH, MODERATE = 0.2, 0.05
NEEDED = 20
"""Elements and training steps needed."""

NOISE = 0.0005
"""Seconds per element that `next()` takes for an element that is ready: a few eager operations."""


@dataclass(frozen=True, slots=True)
class WaitShare:
    """The share of a loop's time spent waiting, and whether there is enough data to report it."""

    share: float
    each: float
    """Seconds of waiting per element."""
    elements: int
    enough: bool

    @property
    def is_high(self) -> bool:
        """Whether the loop is input-bound."""
        return self.enough and self.share >= HIGH and self.each >= NOISE

    @property
    def is_noise(self) -> bool:
        """Whether a large share of the time is only the overhead of `next()`."""
        return self.enough and self.share >= HIGH and self.each < NOISE

    @property
    def text(self) -> str:
        """The observation in words."""
        degree = ", moderate" if MODERATE <= self.share < HIGH else ""
        share = int(self.share * 100 + 1e-6)  # rounding up could show the threshold it is below
        text = f"{share}% of the time{degree}, {self.each * 1e3:.1f} ms for each of {self.elements} elements"
        return f"{text}: about what `next()` itself takes, so steps are too short to tell" if self.is_noise else text


def waits(capture: Capture) -> dict[Where | None, Wait]:
    """Waits of loops over datasets since the first training step, keyed by line."""
    time = training_time(capture) if capture.segments else None
    if time is None:
        return capture.waits  # captures of early releases have no states
    found = {}
    for where, one in time.waits.items():
        seconds = sum(time.parts[number].lasted for number in one.parts)
        steps = sum(time.parts[number].steps for number in one.parts)
        found[where] = Wait(one.elements, one.seconds, seconds, steps)
    return found


def wait_share(wait: Wait) -> WaitShare:
    """Evaluates the waits of one loop."""
    enough = wait.elements >= NEEDED and wait.steps >= NEEDED and wait.seconds > 0
    share = min(wait.waited / wait.seconds, 1.0) if wait.seconds > 0 else 0.0
    return WaitShare(share, wait.waited / wait.elements if wait.elements else 0.0, wait.elements, enough)
