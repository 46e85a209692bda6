"""Splits the time of training steps into the step itself and the Python code before the next one."""

from __future__ import annotations

import functools
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.writer import Writer


class Pace:
    """Times the steps of one process. Workers that train together wait for each other inside the step or at their
    input, so only the time in between shows which one is slow."""

    def __init__(self) -> None:
        self.on_first: Callable[[], None] | None = None
        """If set, called after each call of a function."""
        self._lock = threading.Lock()
        self._calls = threading.local()
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()
        self.called: Counter[str] = Counter()
        """Number of functions by name that were called: a decorated method is a function per object."""
        self._fresh: list[tuple[float, float, float]] = []
        """Unwritten steps: start, end, and total input wait in seconds."""
        self._before: tuple[float, float] | None = None
        """End of the last written step, and total input wait by then."""

    def watch(self, function: Any, hooks: Hooks) -> None:
        """Records when calls of a `tf.function` start; `function` is their class."""
        hooks.replace(function, "__call__", self._timed(function.__call__))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        calls = self._calls

        @functools.wraps(call)
        def timed(function: Any, *arguments: Any, **keywords: Any) -> Any:
            if getattr(calls, "began", None) is not None:
                return call(function, *arguments, **keywords)  # nested in another call
            if function not in self._known:
                self._known.add(function)
                self.called[getattr(function, "__name__", "")] += 1
            calls.began = time.perf_counter()
            try:
                return call(function, *arguments, **keywords)
            finally:
                calls.began = None
                if self.on_first is not None:
                    self.on_first()

        return timed

    def add(self, ended: float, waited: float) -> None:
        """A step has ended; `waited` is the total input wait in seconds."""
        began = getattr(self._calls, "began", None)
        if began is not None:
            with self._lock:
                self._fresh.append((began, ended, waited))

    def write(self, writer: Writer) -> None:
        """Writes the steps since the last time: their number, and both medians."""
        inside, between = [], []
        with self._lock:  # two threads write; the second sum continues the first
            for began, ended, waited in self._fresh:
                if self._before is not None:
                    inside.append(ended - began)
                    between.append(max(0.0, began - self._before[0] - (waited - self._before[1])))
                self._before = ended, waited
            self._fresh = []
        if inside:
            writer.write("pace", rows=[[len(inside), round(_median(inside), 6), round(_median(between), 6)]])


def _median(values: list[float]) -> float:
    """The lower median."""
    return sorted(values)[(len(values) - 1) // 2]
