"""Where the time of the training steps went.

Each instant between the end of the first training step and the end of the last belongs to one part, so that the parts
add up to the wall time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from statistics import median
from typing import NamedTuple

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Steps, Where
from gpulint.probe.measures.window import busy, device_seconds, why_unknown

PARTS = ("gpu", "collective", "copy", "input", "trace", "launch", "python", "checkpoint", "other")
"""Names of the parts, in the order in which reports show them; part of the JSON report's contract."""


class Part(NamedTuple):
    """Seconds of one part, and their share of the wall time, 0 to 1."""

    name: str
    seconds: float
    share: float


@dataclass(frozen=True, slots=True)
class PartAt:
    """What a line spent in a part: `detail` names the operation or kind of work ("read", "callback", a function)."""

    name: str
    where: Where | None
    seconds: float
    count: int
    detail: str


class StepTime(NamedTuple):
    """A training step, from the end of the one before (`number` counts from 1); `ended` is seconds since the epoch."""

    number: int
    ended: float
    seconds: float
    parts: dict[str, float]


class PhaseTime(NamedTuple):
    """A stretch of the run: "epoch 2", "evaluation", "prediction"; `began` is seconds since the epoch."""

    name: str
    began: float
    seconds: float
    steps: int
    parts: tuple[Part, ...]


class DeviceTime(NamedTuple):
    """How busy a device was. `source` is "tracer", "nvml" (`busy_share` is None then), or "" if unknown."""

    device: str
    busy_share: float | None
    kernels_per_step: float | None
    source: str


@dataclass(frozen=True, slots=True)
class Tracing:
    """Traces ("trace") or compilations ("xla") of a function; `causes` are the shapes and values that changed."""

    function: str
    where: Where | None
    kind: str
    count: int
    seconds: float
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TimeSpent:
    """The time between the end of the first training step and the end of the last, and what it was spent on."""

    seconds: float
    steps: int
    step_median: float
    step_p95: float
    parts: tuple[Part, ...]
    """Those that are not 0, in the order of PARTS."""
    by_line: tuple[PartAt, ...]
    """Longest first."""
    each: tuple[StepTime, ...]
    phases: tuple[PhaseTime, ...]
    devices: tuple[DeviceTime, ...]
    operations_per_step: float | None
    """Operations launched by the executor or eagerly."""
    launch_cost: float | None
    """Median seconds per operation launched."""
    tracings: tuple[Tracing, ...]
    why_unknown: str
    """Why the devices' share of the time is unknown, "" if it is known."""

    def seconds_of(self, part: str) -> float:
        """Seconds of a part, 0 if it took none."""
        return next((one.seconds for one in self.parts if one.name == part), 0.0)


def time_spent(capture: Capture) -> TimeSpent | None:
    """None if fewer than two training steps were seen."""
    ends = sorted(one.t for one in capture.timeline if isinstance(one.what, Steps) and one.number == 1)
    total = sum(one.taken for one in capture.steps.values())
    if total < 2 or len(ends) < 2:
        return None
    last = max(one.t for one in capture.timeline if isinstance(one.what, Steps))
    seconds = last - ends[0]
    lasted = [after - before for before, after in pairwise(ends)]
    waited = min(sum(one.waited for one in capture.waits.values() if one.steps), seconds)
    inside, between = (
        sum(pace.steps * spent for pace, spent in ((pace, pace.inside) for pace in capture.paces)),
        sum(pace.steps * spent for pace, spent in ((pace, pace.between) for pace in capture.paces)),
    )
    left = seconds - waited
    launch = left * inside / (inside + between) if inside + between else 0.0
    spent = without_devices({"input": waited, "launch": launch, "python": left - launch}, capture)
    computing = (spent.get("gpu", 0.0) + spent.get("collective", 0.0)) / seconds if seconds else 0.0
    return TimeSpent(
        seconds=seconds,
        steps=total - 1,
        step_median=median(lasted),
        step_p95=sorted(lasted)[ceil(0.95 * len(lasted)) - 1],
        parts=parts_of(spent, seconds),
        by_line=tuple(
            PartAt("input", where, one.waited, one.elements, "next")
            for where, one in sorted(capture.waits.items(), key=lambda item: -item[1].waited)
            if one.steps
        ),
        each=tuple(StepTime(number, end, length, {}) for number, (end, length) in enumerate(zip(ends[1:], lasted), 2)),  # noqa: B905
        phases=(),
        devices=tuple(DeviceTime(*one) for one in busy(capture, computing)),
        operations_per_step=None,
        launch_cost=None,
        tracings=(),
        why_unknown=why_unknown(capture),
    )


def without_devices(states: dict[str, float], capture: Capture) -> dict[str, float]:
    """Seconds of parts from seconds of the training thread's states: where a device worked meanwhile, it is the
    device's part."""
    parts = dict(states)
    for state, taken in device_seconds(capture, states).items():
        for part, seconds in taken.items():
            parts[state] -= seconds
            parts[part] = parts.get(part, 0.0) + seconds
    return parts


def parts_of(spent: dict[str, float], seconds: float) -> tuple[Part, ...]:
    """The parts that took time, in the order of PARTS."""
    return tuple(Part(name, spent[name], spent[name] / seconds) for name in PARTS if spent.get(name) and seconds > 0)
