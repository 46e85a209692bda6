"""Cost of launching an eager operation, measured in a few training steps."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.states import PYTHON, States
from gpulint.probe.agent.steps import NEVER, Again
from gpulint.probe.agent.writer import Writer

STEPS = (2, 3, 5, 9, 17, 33, 65, 129, 257)
"""Steps after the first measured one in which operations are timed."""

MOST = 5_000
"""Operations timed in all."""

SLOWEST = 0.02
"""Share of the operations left out of the mean: the first of a kind looks for its kernel."""

EAGER = 30e-6
"""Seconds that Python and the eager runtime take for an operation on an idle machine, at most."""

EXECUTES = ("TFE_Py_FastPathExecute", "TFE_Py_Execute")
"""The functions through which Python runs operations."""


class EagerCosts:
    """Times the eager operations that the training thread runs outside functions."""

    def __init__(self, states: States, first: int) -> None:
        """`first`: the first measured step."""
        self._states = states
        self._steps = [first + step for step in STEPS]
        self._hooks = Hooks()
        self._runtime: Any = None
        self._lasted: list[float] = []
        self._least: list[float] = []
        """The fewest seconds of the operations that come first, second, … in a step."""
        self._position = 0
        self._told = 0
        self._is_inside = False

    def watch(self, runtime: Any) -> None:
        """`runtime` is the module that runs operations."""
        self._runtime = runtime

    def stepped(self, taken: int) -> Again:
        """Training step number `taken` has ended."""
        self._hooks.put_back()
        if self._runtime is None or len(self._lasted) >= MOST:
            return Again()
        if taken in self._steps:
            self._position = 0
            for name in EXECUTES:
                if (execute := getattr(self._runtime, name, None)) is not None:
                    self._hooks.replace(self._runtime, name, self._timed(execute))
            return Again(step=taken + 1)
        return Again(step=min((step for step in self._steps if step > taken), default=NEVER))

    def _timed(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        states, lasted = self._states, self._lasted

        @functools.wraps(execute)
        def timed(*arguments: Any) -> Any:
            if not states.is_here or states.state != PYTHON or self._is_inside:
                return execute(*arguments)
            self._is_inside = True
            began = time.perf_counter()
            try:
                return execute(*arguments)
            finally:
                lasted.append(time.perf_counter() - began)
                self._compare(lasted[-1])
                self._is_inside = False

        return timed

    def _compare(self, seconds: float) -> None:
        """With the operations at the same position of other steps: what is slower was disturbed."""
        at, self._position = self._position, self._position + 1
        if at == len(self._least):
            self._least.append(seconds)
        self._least[at] = min(self._least[at], seconds)

    def end(self) -> None:
        """Times no more operations."""
        self._hooks.put_back()
        self._runtime = None

    def write(self, writer: Writer) -> None:
        """Writes the costs if more were measured since the last time."""
        lasted = list(self._lasted)
        if len(lasted) > self._told:
            self._told = len(lasted)
            lasted.sort()
            usual = lasted[: len(lasted) - int(len(lasted) * SLOWEST) or 1]
            mean = round(sum(usual) / len(usual), 9)
            least = self._least[:]
            computing = round(sum(max(one - EAGER, 0.0) for one in least) / len(least), 9)
            written = {"mean": mean, "median": round(median(lasted), 9), "computing": computing}
            writer.write("eager", operations=len(lasted), **written)
