"""Waits for the end of pipelines: TensorFlow's thread that tunes a pipeline sometimes stops late."""

from __future__ import annotations

from gpulint.probe.advice.ranking import is_beyond_chance
from gpulint.probe.agent.inputs import CLOSE
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.time_spent import TimeSpent


def recurs(capture: Capture, where: Where | None) -> bool:
    """Whether a line waits for the end of its pipelines beyond chance: another run might not wait for the one or two
    whose tuning stopped late."""
    works = [work for segment in capture.segments for work in segment.work]
    ends = [one for one in works if (one.where, one.detail) == (where, CLOSE) and one.times]
    waits = [wait for one in ends for wait in ((one.seconds, 1), (0.0, one.times - 1))]  # one may be all of them
    return is_beyond_chance(waits) if ends else True


def waited(capture: Capture, time: TimeSpent) -> tuple[float, float]:
    """Seconds that training waited for the end of pipelines, and those of them that are chance."""
    ends = [one for one in time.by_line if (one.name, one.detail) == ("input", CLOSE)]
    return sum(one.seconds for one in ends), sum(one.seconds for one in ends if not recurs(capture, one.where))
