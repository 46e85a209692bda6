"""A window of the run that TensorFlow's own profiler traces: what each GPU did, and what its host waited for.

`tf.profiler.experimental.start` and `stop` write `plugins/profile/TIME/HOST.xplane.pb` below a directory (2.16 and
2.21, on CPUs as on GPUs). A process has one profiler: a second start raises AlreadyExistsError.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from gpulint.probe.agent.guard import Guard
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.step_marks import StepMarks
from gpulint.probe.agent.steps import NEVER, Again
from gpulint.probe.agent.threads import OWN
from gpulint.probe.tracing.handover import leave
from gpulint.probe.tracing.xspace import MARKER

ENOUGH = 1.0
"""Seconds after which the window ends with the next step: tracing slows down a step of many operations by a quarter."""

LONGEST = 5.0
"""Seconds after which it ends within a step."""

PATIENCE = 2.0
"""Seconds that a loop within a function has run before the window begins without waiting for a step."""

_SESSION = "_profiler"
"""Where TensorFlow keeps the session. It stays there if a profiler server has one too, and no other could start."""

Places = Callable[[], Mapping[str, tuple[int, int]]]
"""Node of a graph → file number and row of the line that created it."""


class Profile:
    """Profiles a range of steps. Yields to the program if that starts the profiler itself.

    Steps within a loop over a dataset in a `tf.function` are not seen: then the window has a length in time.
    """

    def __init__(
        self,
        directory: str,
        first: int,
        steps: int,
        lost: Callable[[str], None],
        fault: Guard,
        progress: Callable[[], tuple[int, float]],
    ) -> None:
        """`first` is the step after which profiling begins, at least 1. `lost` is called with the reason if there is
        no profile. `progress` returns the number of steps so far, and when the last one ended
        (`time.perf_counter`)."""
        self._directory = directory
        self._first, self._steps = max(first, 1), steps
        self._lost, self._fault, self._progress = lost, fault, progress
        self._start: Callable[[str], None] | None = None
        self._stop: Callable[[], None] | None = None
        self._mark: Callable[[str], Any] | None = None
        self._module: Any = None
        self._marks = StepMarks(fault)
        self._lock = threading.RLock()
        self._is_due = True
        """Whether the window has not begun yet."""
        self.is_running = False
        self._limit = 0.0
        """When it ends at the latest (`time.perf_counter`)."""
        self._began = 0.0
        """Seconds since the epoch."""
        self._before = 0
        """Steps before it."""
        self._looping_since = NEVER
        self._writing: threading.Thread | None = None
        self._spans: list[tuple[str, float, float]] = []
        self.places: Places = dict
        """Called when the window has ended."""
        self.refused: Callable[[], str] = lambda: ""
        """Why there is to be no profile, "" if there is. Called when it would begin."""
        self.on_begin: Callable[[], None] = lambda: None
        self.on_end: Callable[[], None] = lambda: None
        """Called when the window has begun, and before it ends."""
        self.on_log: Callable[[bool], None] = lambda own: None
        """Called before the profiler logs that it starts: for the window (True), or for the program."""

    def watch(self, profiler: Any, hooks: Hooks) -> None:
        """`profiler` is `tf.profiler.experimental`. Raises AttributeError if it lacks a needed function."""
        self._start, self._stop, self._mark = profiler.start, profiler.stop, profiler.Trace
        giving_way = self._giving_way(profiler.start)
        inside = sys.modules[profiler.start.__module__]  # `trace_on` and `Profile` start it through this module
        self._module = inside
        for owner in (profiler, inside):
            hooks.replace(owner, "start", giving_way)
        self._marks.watch(profiler.Trace, hooks)

    def stepped(self, taken: int, now: float) -> Again:
        """Training step number `taken` has ended. Called at the steps that this object requests, perhaps at others,
        too."""
        if self._is_due and taken < self._first:
            return Again(step=self._first)
        if self._is_due:
            self._begin(LONGEST)
        elif self.is_running and (taken >= self._before + self._steps or now >= self._limit - LONGEST + ENOUGH):
            self._finish()
        if not self.is_running:
            return Again()
        self._marks.begin(taken + 1)
        return Again(taken + 1, self._limit - LONGEST + ENOUGH)

    def look(self, is_looping: bool) -> None:
        """Called about every second, from any thread. `is_looping`: the program loops over a dataset in a
        function."""
        now = time.perf_counter()
        if self.is_running and now >= self._limit:
            self.end()
        elif self._is_due and is_looping:
            self._looping_since = min(self._looping_since, now)
            if now >= self._looping_since + PATIENCE:
                self._begin(ENOUGH)

    def spent(self, state: str, began: float, ended: float) -> None:
        """The training thread was in a state between two moments (`time.perf_counter`) of the window."""
        if self._spans and self._spans[-1][0] == state and self._spans[-1][2] == began:
            began = self._spans.pop()[1]
        self._spans.append((state, began, ended))

    def end(self) -> None:
        """Ends the window if it is not over, and waits until the profile is written."""
        self._finish()
        if self._writing is not None and self._writing is not threading.current_thread():
            self._writing.join()

    def _finish(self) -> None:
        """End the window now. A separate thread writes the profile while the program continues."""
        with self._lock:
            if not self.is_running:
                return
            self.is_running = False
            self._marks.end()
            try:
                self.on_end()
            except Exception as error:
                self._fault("profile", error)
            taken, last = self._progress()
            ended, steps = time.time(), taken - self._before
            if steps:
                ended += last - time.perf_counter()
            self._writing = threading.Thread(target=self._write, args=(ended, steps), name=OWN, daemon=True)
            self._writing.start()

    def _write(self, ended: float, steps: int) -> None:
        try:
            if self._stop is not None:
                self._stop()
            shift = time.time() - time.perf_counter()
            spans = [[state, shift + began, shift + end] for state, began, end in self._spans]
            leave(
                self._directory,
                {"began": self._began, "ended": ended, "steps": steps, "spans": spans, "places": self.places()},
            )
        except Exception as error:
            self._fault("profile", error)

    def _begin(self, seconds: float) -> None:
        with self._lock:
            if not self._is_due or self._start is None or self._mark is None:
                return
            self._is_due = False
            if reason := self.refused():
                self._lost(reason)
                return
            running = getattr(self._module, _SESSION, None)
            self.on_log(True)
            try:
                self._start(self._directory)
            except Exception as error:
                if running is None and hasattr(self._module, _SESSION):
                    setattr(self._module, _SESSION, None)
                self._lost(f"{type(error).__name__}: {error}")
                return
            self.is_running = True
            self._limit = time.perf_counter() + seconds
            self._before, _ = self._progress()
            self._began = time.time()
            try:
                with self._mark(f"{MARKER}{time.time_ns()}"):
                    pass
                self.on_begin()
            except Exception as error:
                self._fault("profile", error)

    def _giving_way(self, start: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(start)
        def started(*arguments: Any, **keywords: Any) -> Any:
            self.end()
            self.on_log(False)
            return start(*arguments, **keywords)

        return started
