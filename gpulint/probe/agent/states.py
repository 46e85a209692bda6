"""States of the training thread, from the first training step on.

At each instant the thread is in one state: the innermost one that it entered. So the seconds of all states add up to
the wall time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from threading import get_ident
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from gpulint.probe.agent.places import Place
from gpulint.probe.agent.writer import Writer

STATES = ("input", "trace", "launch", "checkpoint", "python", "own")
"""Names of the states; "own" is the agent's."""

INPUT, TRACE, LAUNCH, CHECKPOINT, PYTHON, OWN = range(len(STATES))

OF_SAVES = frozenset({LAUNCH, PYTHON})
"""States that are part of a save in which they begin."""

EACH = 2_000
"""Steps recorded individually; later ones are only summed up."""

PERIOD = 1.0
"""Seconds between two records of the same stage."""

SLOWEST = 5
"""Number of slow steps whose work is recorded."""

SHOWN = 4
"""Kinds of work recorded of a slow step."""

PASS = "loop"
"""The name of a stage that is one pass of a loop over a dataset."""

STAGES = 200
"""Stages recorded; later ones belong to the stage around them."""

FIRST = "first step"
"""The kind of the record of what the thread did until its first step ended."""

OnSpan: TypeAlias = Callable[[int, float, float], None]
"""Receives a state and the moments (`time.perf_counter`) between which the thread was in it without interruption."""


class Stage(NamedTuple):
    """A stretch of the program: an epoch, an evaluation. `id` is 0 outside of all."""

    id: int
    name: str
    place: Place | None


class _Work:
    """Work of one kind on one line: seconds and number, those since the last step apart."""

    __slots__ = ("count", "detail", "fresh", "fresh_count", "place", "seconds", "state")

    def __init__(self, state: int, place: Place | None, detail: str) -> None:
        self.state, self.place, self.detail = state, place, detail
        self.seconds = self.fresh = 0.0
        self.count = self.fresh_count = 0


class Segment(NamedTuple):
    """Consecutive steps of one stage, or its rest after them: seconds by state, rows of single steps with the eager
    operations in each, work by line, and the slowest steps."""

    stage: int
    began: float
    ended: float
    steps: int
    seconds: list[float]
    eager: int
    each: list[list[float]]
    work: list[tuple[Place | None, int, str, float, int]]
    slow: list[tuple[float, list[tuple[Place | None, int, str, float, int]]]]


class Moved(NamedTuple):
    """Seconds inside a function, between two moments, that belong to another state."""

    place: Place | None
    state: int
    detail: str
    began: float
    ended: float
    seconds: float
    number: int


class States:
    """The states of the training thread: the thread that arms the agent, unless only others take steps.

    `enter` and `leave` are called many times a step, so they only add up. Each Python function that a step calls also
    costs the time to load what it refers to, which the program's own work has displaced from the processor's caches.
    """

    def __init__(self) -> None:
        self.on_span: OnSpan | None = None
        """If set, called with each span of a state, while spans are wanted."""
        self.elsewhere = 0
        """Eager operations of the replicas' threads, for which the training thread waited."""
        self.epoch = time.time() - perf_counter()
        """Seconds since the epoch at which `time.perf_counter` was 0."""
        self._lock = threading.Lock()
        self._known: dict[tuple[int, Place | None, str], _Work] = {}
        self._stages: list[Stage] = [Stage(0, "", None)]
        self._untold: list[Stage] = []
        self._made = 0
        self._segments: list[Segment] = []
        self._first_step: Segment | None = None
        """What the thread did until its first step ended, until that is written."""
        self._moved: list[Moved] = []
        self._single = 0
        self._slow: list[float] = []
        self.is_counting = False
        """Whether the first step has ended."""
        self._is_adding_up = False
        """Whether a step or a segment is being ended: a garbage collection meanwhile changes no state."""
        self._begin(get_ident())

    def _begin(self, thread: int) -> None:
        self._thread = thread
        for work in self._known.values():  # of the thread before
            work.fresh, work.fresh_count = 0.0, 0
        self._stack = [self._work(PYTHON, None, "")]
        self._since = self._began = self._first = self._last = perf_counter()
        self._stepped = self._due = 0.0
        self._touched: list[_Work] = []
        self._settled = [0.0] * len(STATES)
        self._rows: list[list[float]] = []
        self._slow_rows: list[tuple[float, list[tuple[Place | None, int, str, float, int]]]] = []
        self._steps = 0
        self._eager = self._eager_before = 0

    def _work(self, state: int, place: Place | None, detail: str) -> _Work:
        key = (state, place, detail)
        work = self._known.get(key)
        if work is None:
            work = self._known[key] = _Work(state, place, detail)
        return work

    # ------------------------------------------------------------------------- the thread

    @property
    def is_here(self) -> bool:
        """Whether this is the training thread."""
        return get_ident() == self._thread

    @property
    def thread(self) -> int:
        """Identity of the training thread."""
        return self._thread

    @property
    def last(self) -> float:
        """When the last step ended (`time.perf_counter`), 0 before the first."""
        return self._stepped

    @property
    def state(self) -> int:
        """State of the training thread. May be called from any thread."""
        return self._stack[-1].state

    @property
    def now(self) -> tuple[int, str]:
        """State of the training thread, with its detail. May be called from any thread."""
        work = self._stack[-1]
        return work.state, work.detail

    def place_in(self, state: int) -> Place | None:
        """The line of what this thread does, if it is the training thread and in that state."""
        work = self._stack[-1]
        return work.place if work.state == state and get_ident() == self._thread else None

    @property
    def since(self) -> float:
        """When it began to (`time.perf_counter`); may be called from any thread."""
        return self._since

    def enter(self, state: int, place: Place | None = None, detail: str = "") -> bool:
        """This thread begins something. Returns whether `leave` is to be called: not in other threads, and not for what
        a save runs and reads, which is part of it."""
        if get_ident() != self._thread or self._is_adding_up:
            return False
        around = self._stack[-1]
        if around.state == CHECKPOINT and state in OF_SAVES:
            return False
        work = self._known.get((state, place, detail)) or self._work(state, place, detail)
        self._account(around, perf_counter())
        if work is not around:  # a read within a read, by another method of the tensor
            work.fresh_count += 1
        self._stack.append(work)
        return True

    def leave(self) -> float:
        """Leave the state that was entered last. Returns the current time."""
        now = perf_counter()
        if len(self._stack) > 1:
            self._account(self._stack.pop(), now)
        return now

    def _account(self, work: _Work, now: float) -> None:
        """The time since the last change of state was spent on some work."""
        seconds = now - self._since
        if seconds < 0:  # a garbage collection came between
            return
        if not work.fresh:
            self._touched.append(work)
        work.fresh += seconds
        if self.on_span is not None:
            self.on_span(work.state, self._since, now)
        self._since = now

    def was(self, state: int, place: Place | None, detail: str, but: float = 0.0) -> float:
        """The training thread did something else since the last change of state, apart from the last `but` seconds.
        Returns its seconds."""
        if get_ident() != self._thread:
            return 0.0
        now = max(self._since, perf_counter() - but)
        seconds = now - self._since
        work = self._work(state, place, detail)
        work.fresh_count += 1
        self._account(work, now)
        return seconds

    def moves(
        self, place: Place | None, state: int, detail: str, began: float, ended: float, seconds: float, count: int = 1
    ) -> None:
        """Assign `seconds` of the time between two moments inside a function to another state."""
        if self.is_counting and began >= self._first and seconds > 0:
            with self._lock:
                self._moved.append(Moved(place, state, detail, began, ended, seconds, count))

    # -------------------------------------------------------------------- steps and stages

    def stepped(self, eager: int) -> None:
        """Record the end of a step, after `eager` operations in all."""
        eager -= self.elsewhere
        thread = get_ident()
        if thread != self._thread and not hasattr(threading.current_thread(), "replica_id"):
            if self.is_counting:
                return  # the steps of one thread count
            self._begin(thread)
        self._is_adding_up = True
        try:
            self._end_step(eager)
        finally:
            self._is_adding_up = False

    def _end_step(self, eager: int) -> None:
        now = perf_counter()
        self._account(self._stack[-1], now)
        if self.is_counting:
            self._settle(now, eager - self._eager_before)
        else:
            self.is_counting = True
            self._end_first_step(now)
            self._began = self._first = now
        self._last = self._stepped = now
        self._eager_before = eager
        if now >= self._due:
            self._cut()

    def _settle(self, now: float, eager: int) -> None:
        """Counts what was spent on a step."""
        lasted = now - self._last
        if len(self._slow) < SLOWEST or lasted > self._slow[0]:
            self._slow = sorted([*self._slow, lasted])[-SLOWEST:]
            longest = sorted(self._touched, key=lambda work: -work.fresh)[:SHOWN]
            rows = [(one.place, one.state, one.detail, one.fresh, one.fresh_count) for one in longest]
            self._slow_rows.append((now, rows))
        fresh = self._sum()
        if self._single < EACH:
            self._single += 1
            self._rows.append([now, *fresh, eager])
        self._steps += 1
        self._eager += eager

    def _sum(self) -> list[float]:
        """Adds what is fresh to the rest. Returns its seconds by state."""
        settled, fresh = self._settled, [0.0] * len(STATES)
        for work in self._touched:
            seconds = work.fresh
            fresh[work.state] += seconds
            settled[work.state] += seconds
            work.seconds += seconds
            work.count += work.fresh_count
            work.fresh, work.fresh_count = 0.0, 0  # the list may contain it twice
        self._touched.clear()
        return fresh

    def _end_first_step(self, now: float) -> None:
        """What was done until now is no part of the time of the steps."""
        touched = dict.fromkeys(self._touched)  # the list may contain it twice
        rows = [(one.place, one.state, one.detail, one.fresh, one.fresh_count) for one in touched]
        row = Segment(0, self._began, now, 1, self._sum(), 0, [], rows, [])
        for work in self._known.values():
            work.seconds, work.count = 0.0, 0
        self._settled = [0.0] * len(STATES)
        with self._lock:
            self._first_step = row

    def _cut(self) -> None:
        """Ends a segment at the last step."""
        work = []
        for one in self._known.values():
            if one.count or one.seconds:
                work.append((one.place, one.state, one.detail, one.seconds, one.count))
                one.seconds, one.count = 0.0, 0
        if self._last > self._began:
            row = Segment(
                self._stages[-1].id,
                self._began,
                self._last,
                self._steps,
                self._settled,
                self._eager,
                self._rows,
                work,
                self._slow_rows,
            )
            with self._lock:
                self._segments.append(row)
        self._began, self._due = self._last, self._last + PERIOD
        self._settled = [0.0] * len(STATES)
        self._rows, self._slow_rows, self._steps, self._eager = [], [], 0, 0

    def close(self) -> None:
        """Ends the segment now: what came after the last step is a segment of its own."""
        if not self.is_counting:
            return
        self._is_adding_up = True
        try:
            now = perf_counter()
            self._account(self._stack[-1], now)
            self._cut()
            self._sum()
            self._last = now
            self._cut()
            self._due = 0.0
        finally:
            self._is_adding_up = False

    @property
    def depth(self) -> int:
        """Number of stages that the training thread is in."""
        return len(self._stages) - 1

    def begin_stage(self, name: str, place: Place | None) -> None:
        """An epoch, an evaluation or the like begins."""
        if get_ident() != self._thread or self._made >= STAGES:
            return
        self.close()
        self._made += 1
        stage = Stage(self._made, name, place)
        self._stages.append(stage)
        with self._lock:
            self._untold.append(stage)

    def begin_pass(self, place: Place | None) -> None:
        """A loop over a dataset begins: a stage unless it is part of another one's."""
        if get_ident() != self._thread:
            return
        passes = [index for index, stage in enumerate(self._stages) if stage.name == PASS and stage.place == place]
        if passes:
            self.end_stages(passes[0] - 1)  # it was left before its end
        if self._stages[-1].name in ("", PASS):
            self.begin_stage(PASS, place)

    def end_pass(self, place: Place | None) -> None:
        """A loop over a dataset has ended."""
        if self._stages[-1].name == PASS and self._stages[-1].place == place:
            self.end_stages(self.depth - 1)

    def end_stages(self, depth: int) -> None:
        """The stages beyond a depth have ended."""
        if get_ident() == self._thread and self.depth > depth:
            self.close()
            del self._stages[depth + 1 :]

    # ----------------------------------------------------------------------------- writing

    def write(self, writer: Writer) -> None:
        """Writes the segments since the last time."""
        with self._lock:
            segments, self._segments = self._segments, []
            stages, self._untold = self._untold, []
            moved, self._moved = self._moved, []
            first, self._first_step = self._first_step, None
        for stage in stages:
            writer.write("stage", id=stage.id, name=stage.name, where=stage.place)
        for one in (first, *segments):
            if one is None:
                continue
            writer.write(
                FIRST if one is first else "time",
                stage=one.stage,
                began=self._at(one.began),
                ended=self._at(one.ended),
                steps=one.steps,
                seconds={name: round(spent, 6) for name, spent in zip(STATES, one.seconds) if spent},  # noqa: B905
                eager=one.eager,
                states=STATES,
                each=[[self._at(row[0]), *(round(spent, 6) for spent in row[1:])] for row in one.each],
                work=[self._row(writer, *row) for row in one.work],
                slow=[[self._at(moment), [self._row(writer, *row) for row in rows]] for moment, rows in one.slow],
            )

        if moved:
            rows = [
                [
                    *writer.numbered(one.place),
                    STATES[one.state],
                    one.detail,
                    self._at(one.began),
                    self._at(one.ended),
                    round(one.seconds, 6),
                    one.number,
                ]
                for one in moved
            ]
            writer.write("inside", rows=rows)

    def _at(self, moment: float) -> float:
        return round(self.epoch + moment, 6)

    @staticmethod
    def _row(writer: Writer, place: Place | None, state: int, detail: str, seconds: float, count: int) -> list[Any]:
        return [*writer.numbered(place), STATES[state], detail, round(seconds, 6), count]
