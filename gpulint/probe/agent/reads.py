"""Tensors that Python code reads, each of which makes the host wait."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.guard import Fault, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.states import PYTHON, States
from gpulint.probe.agent.tally import Tally

READ = "read"
"""The detail of reads in the time of Python."""


class Reads:
    """Counts `.numpy()`, `float(t)`, `if t`, `print(t)` and similar by line and by the device they wait for.

    All of them end in one private method of eager tensors (2.16 and 2.21).
    """

    def __init__(self, places: Places, hooks: Hooks, fault: Fault, states: States) -> None:
        self._places, self._hooks, self._states = places, hooks, states
        self._note = guarded("reads by the host", fault, self._count)
        self.seen = Tally("reads")

    def watch(self, internals: Internals) -> None:
        tensor = internals.eager_tensor
        if tensor is None:
            return
        self._hooks.replace(tensor, "_numpy", self._timed(tensor._numpy, self._note))
        self._hooks.replace(tensor, "numpy", self._timed(tensor.numpy, self._find))

    def _timed(self, original: Callable[[Any], Any], place_of: Callable[[Any], Place | None]) -> Callable[[Any], Any]:
        states = self._states

        @functools.wraps(original)
        def read(value: Any) -> Any:
            entered = states.enter(PYTHON, place_of(value), READ)
            try:
                return original(value)
            finally:
                if entered:
                    states.leave()

        return read

    def _find(self, value: Any) -> Place | None:
        """`.numpy()` also copies what the private method returns, which is counted there."""
        return self._places.here()

    def _count(self, value: Any) -> Place | None:
        place = self._places.here()
        self.seen.count(place, short(value.backing_device))
        return place
