"""TensorFlow's own profile of some training steps, on request.

`tf.profiler.experimental.start` and `stop` write `plugins/profile/TIME/HOST.xplane.pb` below a directory (2.16 and
2.21, on CPUs as on GPUs). A process has one profiler: a second start raises AlreadyExistsError.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.guard import Fault
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.steps import NEVER, Again


class Profile:
    """Profiles a range of steps. Yields to the program if that starts the profiler itself."""

    def __init__(self, directory: str, first: int, steps: int, lost: Callable[[str], None], fault: Fault) -> None:
        """`first` is the step after which profiling begins, at least 1. `lost` is called with the reason if there is
        no profile."""
        self._directory = directory
        self._first, self._steps = max(first, 1), steps
        self._lost, self._fault = lost, fault
        self._start: Callable[[str], None] | None = None
        self._stop: Callable[[], None] | None = None
        self._is_running = False

    def watch(self, profiler: Any, hooks: Hooks) -> None:
        """`profiler` is `tf.profiler.experimental`. Raises AttributeError if it lacks a needed function."""
        self._start, self._stop = profiler.start, profiler.stop
        giving_way = self._giving_way(profiler.start)
        inside = sys.modules[profiler.start.__module__]  # `trace_on` and `Profile` start it through this module
        for owner in (profiler, inside):
            hooks.replace(owner, "start", giving_way)

    def stepped(self, taken: int) -> Again:
        """Training step number `taken` has ended."""
        last = self._first + self._steps
        if taken == self._first:
            self._begin()
        elif taken == last:
            self.end()
        return Again(step=min((step for step in (self._first, last) if step > taken), default=NEVER))

    def end(self) -> None:
        """Writes the profile if one is running."""
        if self._is_running and self._stop is not None:
            self._is_running = False
            try:
                self._stop()
            except Exception as error:
                self._fault("profile", error)

    def _begin(self) -> None:
        if self._start is None:
            return
        try:
            self._start(self._directory)
            self._is_running = True
        except Exception as error:
            self._lost(f"{type(error).__name__}: {error}")

    def _giving_way(self, start: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(start)
        def started(*arguments: Any, **keywords: Any) -> Any:
            self.end()
            return start(*arguments, **keywords)

        return started
