"""Where the time of the training steps went.

Each instant between the end of the first training step and the end of the last belongs to one part, so that the parts
add up to the wall time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil
from statistics import median
from typing import NamedTuple

from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.agent.graphs import STEP
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Inside, Where
from gpulint.probe.measures.retracing import causes_of, in_words
from gpulint.probe.measures.training_time import (
    INPUT,
    LAUNCH,
    OWN,
    PYTHON,
    UNRECORDED,
    Span,
    TrainingTime,
    training_time,
)
from gpulint.probe.measures.window import busy, computing_lines, why_unknown

GPU = "gpu"
PARTS = ("gpu", "collective", "copy", "input", "trace", "launch", "python", "checkpoint", "other")
"""Names of the parts, in the order in which reports show them; part of the JSON report's contract."""

ROUNDING = 1e-4
"""Share of the time that may be missing from the sum of the parts without being "other"."""

CODE = "code"
"""The detail of Python of which only samples tell."""

LASTING = 3
"""Samples of a line in a step from which it is known in how many steps it works: a shorter piece of work is not sampled
in each."""

LOOP = "loop"
"""The name of a stage that is one pass over a dataset."""

TRACE = "trace"
"""The state in which functions are traced and compiled."""

_ROOT = "Root"
"""The stage of a pipeline that only passes on."""

_ENDS = frozenset({"_Arg", "_Retval", "_DeviceArg", "_DeviceRetval", "NoOp"})
"""Nodes that run nothing."""


class Part(NamedTuple):
    """Seconds of one part, and their share of the wall time, 0 to 1."""

    name: str
    seconds: float
    share: float


@dataclass(frozen=True, slots=True)
class PartAt:
    """Time that a line spent in a part: `detail` names the operation or kind of work ("read", "callback", a
    function). `few`: the number of steps that it is work of, if they are a minority, as the last ones of epochs are;
    else 0."""

    name: str
    where: Where | None
    seconds: float
    count: int
    detail: str
    few: int = 0

    @property
    def times(self) -> int:
        """How often the line worked; 0 if that is unknown, as only samples tell of it."""
        return self.few if self.detail == CODE else self.count


class StepTime(NamedTuple):
    """A training step, from the end of the one before (`number` counts from 1); `ended` is seconds since the epoch.
    `parts` are empty in captures that gpulint wrote before it recorded states; `longest` is the work that took
    longest, of the slowest steps only."""

    number: int
    ended: float
    seconds: float
    parts: dict[str, float]
    longest: tuple[PartAt, ...] = ()


class PhaseTime(NamedTuple):
    """A stretch of the run: "epoch 2", "evaluation", "prediction"; `began` is seconds since the epoch, `where` the line
    that reads its elements."""

    name: str
    began: float
    seconds: float
    steps: int
    parts: tuple[Part, ...]
    where: Where | None = None


class FirstStep(NamedTuple):
    """The time from the import of TensorFlow to the end of the first training step, in which functions are traced and
    pipelines fill their buffers; it is no part of the training time. `by_line`: longest first."""

    seconds: float
    parts: tuple[Part, ...]
    by_line: tuple[PartAt, ...]

    def seconds_of(self, part: str) -> float:
        """Seconds of a part, 0 if it took none."""
        return next((one.seconds for one in self.parts if one.name == part), 0.0)


class DeviceTime(NamedTuple):
    """How busy a device was. `source` is "tracer", "nvml" (`busy_share` is None then), or "" if unknown."""

    device: str
    busy_share: float | None
    kernels_per_step: float | None
    source: str


@dataclass(frozen=True, slots=True)
class Tracing:
    """Traces ("trace") or compilations ("xla") of a function; `causes` are the shapes and values that changed, `again`
    and `again_seconds` the number and the time of those that the changes made necessary."""

    function: str
    where: Where | None
    kind: str
    count: int
    seconds: float
    causes: tuple[str, ...]
    again: int
    again_seconds: float


class InputStage(NamedTuple):
    """A line of the program that feeds the training from other threads: `threads` ran it at a time, on average, while
    the training thread waited or ran a function."""

    where: Where | None
    threads: float


class PipelineStage(NamedTuple):
    """A stage of the pipelines that a line reads, as tf.data names and measures it ("ParallelMapV2", "Shuffle",
    "Generator"): elements, seconds for each, and how many it makes at a time."""

    where: Where | None
    name: str
    elements: int
    seconds: float
    parallelism: float

    @property
    def total(self) -> float:
        """Seconds that the stage needs for all of its elements."""
        return self.elements * self.seconds / self.parallelism


@dataclass(frozen=True, slots=True)
class TimeSpent:
    """The time between the end of the first training step and the end of the last, and what it was spent on; without
    what gpulint itself did."""

    seconds: float
    steps: int
    step_median: float
    step_p95: float
    parts: tuple[Part, ...]
    """Parts that are not 0, in the order of PARTS."""
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
    input_stages: tuple[InputStage, ...] = ()
    """The busiest first; empty if no Python of the program feeds the training."""
    pipeline: tuple[PipelineStage, ...] = ()
    """The slowest first; empty where tf.data does not measure: in TensorFlow before 2.21, or if autotuning is off."""
    unrecorded: float = 0.0
    """Seconds of which the capture does not tell what they were spent on; `parts` are the rest."""
    first: FirstStep | None = None
    """None if it was not recorded, as by an early gpulint."""
    worker: str = ""
    """The worker of a cluster whose steps these are, "" if there is one process."""

    @property
    def shown(self) -> tuple[Part, ...]:
        """The parts, and the rest if it was not recorded."""
        rest = Part(UNRECORDED, self.unrecorded, self.unrecorded / self.seconds) if self.unrecorded else None
        return (*self.parts, rest) if rest is not None else self.parts

    @property
    def between(self) -> float:
        """Seconds between the steps, as of evaluations and predictions; 0 if not every step was recorded by itself."""
        if len(self.each) < self.steps:
            return 0.0
        return max(self.seconds - sum(one.seconds for one in self.each), 0.0)

    def seconds_of(self, part: str) -> float:
        """Seconds of a part, 0 if it took none."""
        return next((one.seconds for one in self.parts if one.name == part), 0.0)


def time_spent(capture: Capture) -> TimeSpent | None:
    """None if fewer than two training steps were seen. Workers of a cluster take all steps together: their time is that
    of the first one that took most, with the devices of all."""
    if capture.members:
        return _of_cluster(capture)
    time = training_time(capture)
    if time is None or time.seconds <= 0:
        return None
    lasted = sorted(one.lasted for one in time.steps) or [time.seconds / time.taken]
    spent = _sum(time.parts)
    computing = (spent.get(GPU, 0.0) + spent.get("collective", 0.0)) / time.seconds
    operations = _operations_per_step(capture, time) if UNRECORDED not in spent else None
    return TimeSpent(
        seconds=time.seconds,
        steps=time.taken,
        step_median=median(lasted),
        step_p95=lasted[ceil(0.95 * len(lasted)) - 1],
        parts=parts_of(spent, time.seconds),
        by_line=tuple(sorted([*_by_line(capture, time), *_on_devices(capture, spent)], key=lambda one: -one.seconds)),
        each=tuple(
            StepTime(
                number,
                one.ended,
                one.lasted,
                {part.name: part.seconds for part in parts_of(one.seconds, one.lasted)} if one.seconds else {},
                tuple(PartAt(work.state, work.where, work.seconds, work.times, work.detail) for work in one.work),
            )
            for number, one in enumerate(time.steps, 2)
        ),
        phases=tuple(_phases(capture, time)),
        devices=tuple(DeviceTime(*one) for one in busy(capture, computing)),
        operations_per_step=operations,
        launch_cost=_launch_cost(capture, time, operations),
        tracings=tuple(_tracings(capture)),
        why_unknown=why_unknown(capture),
        input_stages=tuple(_input_stages(capture)),
        pipeline=tuple(sorted(_pipeline(capture), key=lambda one: -one.total)),
        unrecorded=spent.get(UNRECORDED, 0.0),
        first=_first_step(capture),
    )


def _first_step(capture: Capture) -> FirstStep | None:
    one = capture.first_step
    if one is None:
        return None
    spent = {state: seconds for state, seconds in one.seconds.items() if state in PARTS}
    seconds = one.ended - one.began - one.seconds.get(OWN, 0.0)
    lines = [
        PartAt(work.state, work.where, work.seconds, work.times, work.detail)
        for work in sorted(one.work, key=lambda work: -work.seconds)
        if work.state in PARTS
    ]
    return FirstStep(seconds, parts_of(spent, seconds), tuple(lines)) if seconds > 0 else None


def _of_cluster(capture: Capture) -> TimeSpent | None:
    times = {task: time for task, one in capture.trainers if (time := time_spent(one)) is not None}
    if not times:
        return None
    task, time = max(times.items(), key=lambda one: one[1].steps)
    devices = [
        device._replace(device=f"{each.prefix}{device.device}") for each, one in times.items() for device in one.devices
    ]
    return replace(time, devices=tuple(devices), worker=task.name)


def parts_of(spent: Mapping[str, float], seconds: float) -> tuple[Part, ...]:
    """The parts that took time, in the order of PARTS. What is left of the seconds is "other", unless unrecorded."""
    named = {name: spent[name] for name in PARTS if spent.get(name, 0.0) > 0}
    left = seconds - sum(named.values()) - spent.get(UNRECORDED, 0.0)
    if left > ROUNDING * seconds:
        named["other"] = named.get("other", 0.0) + left
    return tuple(Part(name, named[name], named[name] / seconds) for name in PARTS if name in named and seconds > 0)


def _sum(spans: Iterable[Span]) -> dict[str, float]:
    spent: dict[str, float] = defaultdict(float)
    for one in spans:
        for state, seconds in one.seconds.items():
            spent[state] += seconds
    return spent


def _by_line(capture: Capture, time: TrainingTime) -> Iterator[PartAt]:
    """Time that each line spent in each part. For Python itself, it is estimated from samples."""
    lines: dict[str, Counter[Where | None]] = defaultdict(Counter)
    steps: dict[tuple[str, Where | None], int] = {}
    for sample, count in capture.samples.items():
        if sample.thread == "training":
            lines[sample.detail][sample.where] += count
            steps[sample.detail, sample.where] = capture.sampled_steps[sample]
    shared = Counter(detail for where, state, detail in time.work if state == PYTHON and where is not None)
    for (where, state, detail), (seconds, times) in time.work.items():
        if state not in PARTS or seconds <= 0:
            continue
        sampled = lines[detail] if state == PYTHON else None
        if not sampled or shared[detail] > 1:  # samples do not tell which of these lines they belong to
            yield PartAt(state, where, seconds, int(times), detail, _if_few(int(times), None, time.taken))
        elif where is None:
            total = sum(sampled.values())
            for line, count in sampled.items():
                few = _if_few(steps[detail, line], count, time.taken)
                yield PartAt(state, line, seconds * count / total, count, detail or CODE, few)
        else:
            line = sampled.most_common(1)[0][0] or where
            yield PartAt(state, line, seconds, int(times), detail, _if_few(int(times), None, time.taken))


def _if_few(times: int, samples: int | None, steps: int) -> int:
    """How often a line worked, if in a minority of the steps; of work that was only sampled, if it lasted for several
    samples."""
    is_seen = samples is None or samples >= LASTING * times
    return times if is_seen and 2 * times <= steps else 0


def _on_devices(capture: Capture, spent: Mapping[str, float]) -> Iterator[PartAt]:
    for where, seconds, kernels in computing_lines(capture, spent.get(GPU, 0.0)):
        yield PartAt(GPU, where, seconds, kernels, "kernels")


def _phases(capture: Capture, time: TrainingTime) -> Iterator[PhaseTime]:
    spans: dict[int, list[Span]] = defaultdict(list)
    for part in time.parts:
        spans[part.stage].append(part)
    passes: Counter[Where | None] = Counter()
    training = {capture.stages[number].where for number in spans if number in capture.stages and _steps(spans[number])}
    loops = {one.where for one in capture.stages.values() if one.name == LOOP and one.where in training}
    for number, stage in sorted(capture.stages.items()):
        if stage.name == LOOP:
            passes[stage.where] += 1
        if number in spans:
            name = stage.name
            if name == LOOP:
                name = "epoch" if stage.where in loops and len(loops) == 1 else f"loop on line {_row(stage.where)}"
                name = f"{name} {passes[stage.where]}" if name == "epoch" else f"{name}, pass {passes[stage.where]}"
            one = spans[number]
            seconds = sum(span.lasted for span in one)
            yield PhaseTime(name, one[0].began, seconds, _steps(one), parts_of(_sum(one), seconds), stage.where)


def _steps(spans: Iterable[Span]) -> int:
    return sum(one.steps for one in spans)


def _row(where: Where | None) -> str:
    return str(where.row) if where is not None else "?"


def _operations_per_step(capture: Capture, time: TrainingTime) -> float | None:
    """Nodes of the graphs of training steps, the mean of all traces, and eager operations."""
    names = {name for name, _ in capture.steps}
    traces = sum(one.traces for one in capture.functions.values() if one.name in names and one.graph)
    nodes = sum(count for node, count in capture.nodes.items() if node.part == STEP and node.op not in _ENDS)
    calls = sum(one.taken + one.merged for one in capture.steps.values() if one.name != EAGER_STEP)
    steps = sum(one.taken for one in capture.steps.values())
    eager = sum(one.eager for one in time.parts) / time.taken
    return (nodes / traces * calls / steps if traces and steps else 0.0) + eager or None


def _launch_cost(capture: Capture, time: TrainingTime, operations: float | None) -> float | None:
    """The median of eager operations where they are many; else the time of a step's function over its operations."""
    cost = capture.eager_cost
    eager = sum(one.eager for one in time.parts) / time.taken
    if cost is not None and operations and eager > operations / 2:
        return cost.median
    launched = [one.seconds.get(LAUNCH, 0.0) for one in time.steps]
    return median(launched) / operations if operations and launched and any(launched) else None


def _tracings(capture: Capture) -> Iterator[Tracing]:
    for (name, where, kind), one in sorted(capture.traced.items(), key=lambda item: -item[1].seconds):
        if kind == "trace":
            causes = tuple(in_words(causes_of(name, capture)))
            yield Tracing(name, where, kind, one.times, one.seconds, causes, one.again, one.again_seconds)
            continue
        waits = list(_mere_waits(capture, name))
        seconds = sum(waits)
        if one.times > len(waits):
            times, again = one.times - len(waits), max(one.again - len(waits), 0)
            left, again_left = max(one.seconds - seconds, 0.0), max(one.again_seconds - seconds, 0.0)
            yield Tracing(name, where, kind, times, left, one.causes, again, again_left)


def _mere_waits(capture: Capture, function: str) -> Iterator[float]:
    """Seconds of each long call of a function that seemed to compile, but mostly waited for its element: the agent
    learns of waits later."""
    waits = [one for one in capture.inside if one.work.state == INPUT]
    for one in capture.inside:
        if (one.work.state, one.work.detail) == (TRACE, function):
            if sum(_within(wait, one) for wait in waits) > one.work.seconds / 2:
                yield one.work.seconds


def _within(wait: Inside, other: Inside) -> float:
    """Seconds of a wait that are inside the time of another row."""
    both = min(wait.ended, other.ended) - max(wait.began, other.began)
    return wait.work.seconds * max(both, 0.0) / (wait.ended - wait.began) if wait.ended > wait.began else 0.0


def _pipeline(capture: Capture) -> Iterator[PipelineStage]:
    for (where, name), one in capture.stage_times.items():
        if one.elements and name != _ROOT:
            yield PipelineStage(where, name, one.elements, one.seconds / one.elements, one.parallel / one.elements)


def _input_stages(capture: Capture) -> Iterator[InputStage]:
    """Lines of the program that ran in other threads while the training thread was at its input, or in a function."""
    states = {INPUT, LAUNCH}
    looked = sum(count for one, count in capture.samples.items() if one.thread == "looked" and one.state in states)
    lines: Counter[Where | None] = Counter()
    for one, count in capture.samples.items():
        if one.thread == "outside" and one.state in states:
            lines[one.where] += count
    for where, count in lines.most_common():
        yield InputStage(where, count / looked if looked else 0.0)
