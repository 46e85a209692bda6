"""Marks steps for TensorFlow's profiler: without them XProf knows no steps, and its pages stay empty.

A mark is a `tf.profiler.experimental.Trace` with a `step_num` and `_r=1`, as in TensorFlow's guide.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.hooks import Hooks

NAME, ROOT = "train", "_r"


class StepMarks:
    """Marks each step from the end of the one before. Programs that mark their own steps, as `fit` of Keras 2 does, are
    left alone."""

    def __init__(self, fault: Guard) -> None:
        self._trace: Callable[..., Any] | None = None
        self._running: Any = None
        self._is_ours = False
        """Whether a mark is being created here."""
        self.begin = guarded("profile", fault, self._begin)
        """Step `number` begins."""
        self.end = guarded("profile", fault, self._end)
        """The running step, if any, has ended."""

    def watch(self, trace: Any, hooks: Hooks) -> None:
        """`trace` is `tf.profiler.experimental.Trace`."""
        self._trace = trace
        construct = trace.__init__

        @functools.wraps(construct)
        def constructed(mark: Any, name: str, **metadata: Any) -> None:
            construct(mark, name, **metadata)
            if ROOT in metadata and not self._is_ours:
                self._trace = None

        hooks.replace(trace, "__init__", constructed)

    def _begin(self, number: int) -> None:
        self._end()
        if self._trace is not None:
            self._is_ours = True
            try:
                mark = self._trace(NAME, step_num=number, **{ROOT: 1})
            finally:
                self._is_ours = False
            mark.__enter__()
            self._running = mark

    def _end(self) -> None:
        mark, self._running = self._running, None
        if mark is not None:
            mark.__exit__(None, None, None)
