"""The time that Python's garbage collector takes of the training thread.

It runs wherever Python happens to allocate, and deletes iterators that are in cycles, as those of a strategy: it then
waits for the end of their pipelines.
"""

from __future__ import annotations

import gc

from gpulint.probe.agent.inputs import CLOSE, Inputs
from gpulint.probe.agent.states import INPUT, PYTHON, TRACE, States

GARBAGE = "garbage collection"
"""The detail of collections in the time of Python, and of tracing, which causes most of its own."""


class Garbage:
    """Notifies the states of the training thread when a collection begins and ends."""

    def __init__(self, states: States, inputs: Inputs) -> None:
        self._states, self._inputs = states, inputs
        self._entered = False
        self._ended = 0

    def watch(self) -> None:
        gc.callbacks.append(self._collects)

    def forget(self) -> None:
        if self._collects in gc.callbacks:
            gc.callbacks.remove(self._collects)

    def _collects(self, phase: str, info: dict[str, int]) -> None:
        """Python collects in one thread at a time."""
        if phase == "start":
            self._ended = self._inputs.ended
            self._entered = self._states.enter(TRACE if self._states.state == TRACE else PYTHON, None, GARBAGE)
        elif self._entered:
            self._entered = False
            if self._inputs.ended != self._ended:
                self._states.was(INPUT, self._inputs.ended_at, CLOSE)
            self._states.leave()
