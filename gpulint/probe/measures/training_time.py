"""The time of the training thread from the end of the first step to the end of the last, in spans of states.

Where a device worked meanwhile, it is the device's part. What the agent learns only later is moved: time inside
functions that was a wait for input or a compilation, and the eager operations between functions, whose cost is known
from those that were timed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Inside, Steps, Where, Work
from gpulint.probe.measures.window import device_shares, waiting_share

INPUT, LAUNCH, CHECKPOINT, PYTHON = "input", "launch", "checkpoint", "python"

OWN = "own"
"""The state of the training thread in which gpulint does its own work."""

UNRECORDED = "unrecorded"
"""The state of the training thread of which the capture does not tell."""

EAGER = "eager operations"
"""The detail of work that is eager operations."""

NEXT = "next"
"""The detail of waits for input."""


@dataclass(slots=True)
class Span:
    """A stretch of time, with seconds by state: a step, or several of one stage."""

    began: float
    ended: float
    seconds: dict[str, float]
    eager: int
    """Eager operations."""
    stage: int = 0
    steps: int = 1
    work: tuple[Work, ...] = ()

    @property
    def lasted(self) -> float:
        """Seconds of the program: without those of gpulint."""
        return self.ended - self.began - self.seconds.get(OWN, 0.0)

    def move(self, source: str, target: str, seconds: float) -> float:
        """Moves as many of the seconds as there are; returns how many."""
        moved = min(seconds, self.seconds.get(source, 0.0))
        if moved > 0:
            self.seconds[source] -= moved
            self.seconds[target] = self.seconds.get(target, 0.0) + moved
        return moved


@dataclass(slots=True)
class Waits:
    """Waits of a line for the elements of a dataset: their number, seconds, and the parts of the time (their index)
    that have some."""

    elements: int = 0
    seconds: float = 0.0
    parts: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class TrainingTime:
    """`parts` cover the time without gaps; `steps` are single steps, the first ones of the run. `work` is what lines
    did."""

    parts: list[Span]
    steps: list[Span]
    work: dict[tuple[Where | None, str, str], list[float]] = field(default_factory=dict)
    """(line, state, detail) → seconds and number."""
    waits: dict[Where | None, Waits] = field(default_factory=dict)
    """Line → its waits."""

    @property
    def seconds(self) -> float:
        """The wall time, without that of gpulint."""
        own = sum(one.seconds.get(OWN, 0.0) for one in self.parts)
        return self.parts[-1].ended - self.parts[0].began - own

    @property
    def taken(self) -> int:
        """Number of steps."""
        return sum(one.steps for one in self.parts)


def training_time(capture: Capture) -> TrainingTime | None:
    """None if fewer than two training steps were seen, and no loop over a dataset in a function was traced."""
    parts = [
        Span(one.began, one.ended, dict(one.seconds), one.eager, one.stage, one.steps, one.work)
        for one in sorted(capture.segments, key=lambda one: one.began)
    ]
    while parts and not parts[-1].steps:
        parts.pop()  # the time after the last step
    if not parts and (early := _of_early(capture)) is not None:
        return early
    parts = parts or list(_of_window(capture))
    if not parts:
        return None
    steps = [
        Span(one.ended - sum(one.seconds.values()), one.ended, dict(one.seconds), one.eager, work=one.work)
        for one in capture.steps_taken
    ]
    time = TrainingTime(parts, steps)
    for number, part in enumerate(parts):
        for one in part.work:
            if (one.state, one.detail) == (INPUT, NEXT):
                _wait(time, one.where, one.times, one.seconds, {number})
            _count(time, one.where, one.state, one.detail, one.seconds, one.times)
    _move_devices(capture, time)
    _move_inside(capture.inside, time)
    if not any(one.work.state == INPUT for one in capture.inside):
        _move_traced(waiting_share(capture, LAUNCH), time)
    _move_eager(capture, time)
    return time


def _count(time: TrainingTime, where: Where | None, state: str, detail: str, seconds: float, times: float) -> None:
    work = time.work.setdefault((where, state, detail), [0.0, 0])
    work[0] += seconds
    work[1] += times


def _move_devices(capture: Capture, time: TrainingTime) -> None:
    """Move the time in which devices worked out of every state and its lines."""
    shares = device_shares(capture, {state for one in time.parts for state in one.seconds})
    for span in (*time.parts, *time.steps):
        for state, taken in shares.items():
            spent = span.seconds.get(state, 0.0)
            for name, share in taken.items():
                span.move(state, name, spent * share)
    for (_, state, _), work in time.work.items():
        work[0] *= 1.0 - sum(shares.get(state, {}).values())


def _wait(time: TrainingTime, where: Where | None, elements: int, seconds: float, parts: Iterable[int]) -> None:
    waits = time.waits.setdefault(where, Waits())
    waits.elements += elements
    waits.seconds += seconds
    waits.parts |= {*parts}


def _move_inside(rows: Sequence[Inside], time: TrainingTime) -> None:
    """Waits first: what is left of an unusually long step may be a compilation."""
    for row in sorted(rows, key=lambda one: (one.work.state != INPUT, one.began)):
        if row.began >= time.parts[-1].ended or row.ended <= time.parts[0].began:
            continue
        seconds = row.work.seconds
        if time.steps and row.ended <= time.steps[-1].ended:
            seconds = _move(time.steps, row, seconds)
        seconds = _move(time.parts, row, seconds)
        where = row.work.where
        of_line = [key for key in time.work if key[:2] == (where, LAUNCH)]
        left = seconds
        for key in of_line:
            taken = min(left, time.work[key][0])
            time.work[key][0] -= taken
            left -= taken
        _count(time, where, row.work.state, row.work.detail, seconds, row.work.times)
        if row.work.state == INPUT:
            _wait(time, where, row.work.times, seconds, _among(time.parts, row))


def _move_traced(share: float, time: TrainingTime) -> None:
    """The waits inside functions of which only the traced window tells: the same share of launch everywhere."""
    if not share:
        return
    for span in (*time.parts, *time.steps):
        span.move(LAUNCH, INPUT, span.seconds.get(LAUNCH, 0.0) * share)
    for (where, state, _), work in list(time.work.items()):
        if state == LAUNCH:
            waited = work[0] * share
            work[0] -= waited
            _count(time, where, INPUT, NEXT, waited, work[1])
            _wait(time, where, int(work[1]), waited, range(len(time.parts)))


def _move(spans: Sequence[Span], row: Inside, seconds: float) -> float:
    """Moves seconds of the spans that a row is in, the same share of each; returns how many."""
    among = [spans[number] for number in _among(spans, row)]
    left = sum(one.seconds.get(LAUNCH, 0.0) for one in among)
    share = min(1.0, seconds / left) if left > 0 else 0.0
    return sum(one.move(LAUNCH, row.work.state, one.seconds.get(LAUNCH, 0.0) * share) for one in among)


def _among(spans: Sequence[Span], row: Inside) -> range:
    """The spans that a row is in."""
    first = bisect_right(spans, row.began, key=lambda span: span.ended)
    last = max(bisect_left(spans, row.ended, key=lambda span: span.ended), first)
    return range(min(first, len(spans)), min(last + 1, len(spans)))


def _move_eager(capture: Capture, time: TrainingTime) -> None:
    """The eager operations that the thread ran outside functions, from Python to launch."""
    cost = capture.eager_cost
    if cost is None:
        return
    for step in time.steps:
        step.move(PYTHON, LAUNCH, step.eager * cost.mean)
    moved = sum(part.move(PYTHON, LAUNCH, part.eager * cost.mean) for part in time.parts)
    runs = [(ran.where, count) for ran, count in capture.running.items() if not ran.part]
    total = sum(count for _, count in runs)
    for where, count in runs:
        _count(time, where, LAUNCH, EAGER, moved * count / total, count)
    unnamed = time.work.get((None, PYTHON, ""))
    if unnamed is not None:
        unnamed[0] = max(0.0, unnamed[0] - moved)


def _of_window(capture: Capture) -> Iterator[Span]:
    """Span of the profiler's window, for a loop over a dataset in a function: its steps are not seen, and each element
    that it reads counts as one."""
    window = capture.window
    if window is None or window.steps or not capture.loops:
        return
    steps, _ = window.host.get(INPUT, (0, 0.0))
    if steps > 1:
        spent = {state: one.seconds for state, one in window.states.items() if state} or {LAUNCH: window.seconds}
        loop = capture.loops[0]
        work = Work(loop.where, LAUNCH, loop.function, spent.get(LAUNCH, 0.0), steps)
        yield Span(window.began, window.ended, spent, 0, steps=steps, work=(work,))


def _of_early(capture: Capture) -> TrainingTime | None:
    """Training time of a capture without states of the training thread: its steps, and the waits of Python loops."""
    events = [one for one in capture.timeline if isinstance(one.what, Steps)]
    ends = sorted(one.t for one in events if one.number == 1)
    taken = sum(one.taken for one in capture.steps.values()) - 1
    if taken < 1 or len(ends) < 2:
        return None
    last = max(one.t for one in events)
    waits = [(where, one) for where, one in capture.waits.items() if one.steps]
    waited = min(sum(one.waited for _, one in waits), last - ends[0])
    spent = {INPUT: waited, UNRECORDED: last - ends[0] - waited}
    steps = [Span(before, after, {}, 0) for before, after in pairwise(ends)]
    time = TrainingTime([Span(ends[0], last, spent, 0, steps=taken)], steps)
    for where, one in waits:
        _count(time, where, INPUT, NEXT, one.waited, one.elements)
    _move_devices(capture, time)
    return time
