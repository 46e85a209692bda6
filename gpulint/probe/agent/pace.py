"""How the time of training steps is divided between the step and what Python does before the next one."""

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
    """Times the steps of one process. In training on several workers all of them wait for each other inside of the
    step, or where they ask for input, so that only what is between says which of them the others wait for."""

    def __init__(self) -> None:
        self.on_first: Callable[[], None] | None = None
        """Is called after each call of a function, while there is one."""
        self._lock = threading.Lock()
        self._calls = threading.local()
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()
        self.called: Counter[str] = Counter()
        """How many functions of a name were called: a method that is one has one for each object."""
        self._fresh: list[tuple[float, float, float]] = []
        """Steps that are not written yet: when each began and ended, and the seconds waited for input by then."""
        self._before: tuple[float, float] | None = None
        """When the last step that was written ended, and what was waited by then."""

    def watch(self, function: Any, hooks: Hooks) -> None:
        """Notes when calls of a `tf.function` begin; `function` is the class of these."""
        hooks.replace(function, "__call__", self._timed(function.__call__))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        calls = self._calls

        @functools.wraps(call)
        def timed(function: Any, *arguments: Any, **keywords: Any) -> Any:
            if getattr(calls, "began", None) is not None:
                return call(function, *arguments, **keywords)  # inside of another
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
        """A step has ended; `waited` are the seconds that Python has waited for input so far."""
        began = getattr(self._calls, "began", None)
        if began is not None:
            with self._lock:
                self._fresh.append((began, ended, waited))

    def write(self, writer: Writer) -> None:
        """Write the steps since the last time: how many, and the medians of both."""
        inside, between = [], []
        with self._lock:  # two threads write, and the second sum goes on from the first
            for began, ended, waited in self._fresh:
                if self._before is not None:
                    inside.append(ended - began)
                    between.append(max(0.0, began - self._before[0] - (waited - self._before[1])))
                self._before = ended, waited
            self._fresh = []
        if inside:
            writer.write("pace", rows=[[len(inside), round(_median(inside), 6), round(_median(between), 6)]])


def _median(values: list[float]) -> float:
    """The middle one, the lower of two."""
    return sorted(values)[(len(values) - 1) // 2]
