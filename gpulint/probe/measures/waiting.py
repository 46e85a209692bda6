"""How much of its time a loop waits for input.

The shares are those of the TensorFlow profiler (`op_stats_to_input_pipeline_analysis.cc`): from 5 % on a program is
moderately, from 20 % on highly input-bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpulint.probe.capture.records import Wait

HIGH, MODERATE = 0.2, 0.05
NEEDED = 50
"""Elements, and training steps, below which nothing is said."""

NOISE = 0.0005
"""Seconds per element that `next()` takes where the element is there already: a few eager operations."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The share of a loop's time that it waits, and whether that is enough to say something."""

    share: float
    each: float
    """Seconds that each element was waited for."""
    elements: int
    enough: bool

    @property
    def is_high(self) -> bool:
        """Whether the loop is bound by its input."""
        return self.enough and self.share >= HIGH and self.each >= NOISE

    @property
    def is_noise(self) -> bool:
        """Whether a large share of the time is no more than what `next()` takes of itself."""
        return self.enough and self.share >= HIGH and self.each < NOISE

    @property
    def text(self) -> str:
        """What was seen."""
        degree = ", moderate" if MODERATE <= self.share < HIGH else ""
        share = int(self.share * 100 + 1e-6)  # rounded up it might be the threshold that it is below
        told = f"{share}% of the time{degree}, {self.each * 1e3:.1f} ms for each of {self.elements} elements"
        return f"{told}: about what `next()` takes of itself, so steps are too short to tell" if self.is_noise else told


def judge(wait: Wait) -> Judged:
    """What the waits of one loop come to."""
    enough = wait.elements >= NEEDED and wait.steps >= NEEDED and wait.seconds > 0
    share = min(wait.waited / wait.seconds, 1.0) if wait.seconds > 0 else 0.0
    return Judged(share, wait.waited / wait.elements if wait.elements else 0.0, wait.elements, enough)
