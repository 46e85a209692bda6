"""Tensors that Python code reads, each of which makes the host wait."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import Any

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.states import PYTHON, States
from gpulint.probe.agent.tally import Tally

READERS = frozenset(
    {"numpy", "convert_to_numpy", "get_value", "get_weights", "__array__", "__bool__", "__complex__", "__float__"}
    | {"__format__", "__index__", "__int__", "__nonzero__", "__repr__", "__str__"}
)
"""Functions of TensorFlow and Keras that a program calls to read a tensor."""

READ = "read"
"""The detail of reads in the time of Python."""


class Reads:
    """Counts `.numpy()`, `float(t)`, `if t`, `print(t)` and similar by line and by the device they wait for, and the
    training steps after which each line reads.

    All of them end in one private method of eager tensors (2.16 and 2.21). What TensorFlow and Keras read of their own
    accord (distributed iterators, progress bars) is not the program's doing, and is not counted, nor is what a library
    that is built on them reads within a call. What other threads
    read, as a `py_function`, holds up no step: only the reads are counted, not the steps.
    """

    def __init__(self, places: Places, hooks: Hooks, fault: Guard, states: States, steps: Callable[[], int]) -> None:
        """`steps` returns the number of training steps so far."""
        self._places, self._hooks, self._states, self._steps = places, hooks, states, steps
        self._note = guarded("reads by the host", fault, self._count)
        self._last: dict[tuple[Place | None, str], int] = {}
        """The step after which a line last read a device."""
        self.seen = Tally("reads")
        self.steps = Tally("step reads")

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
        place, called = self._places.here_and_called()
        if called is None or not self._is_asked_for(called):
            return place
        device = short(value.backing_device)
        self.seen.count(place, device)
        steps = self._steps()
        last = self._last.get((place, device), steps - 1)
        if steps and steps != last and self._states.is_here:
            self._last[place, device] = steps
            self.steps.add(place, device, numbers=(1, steps - last))
        return place

    def _is_asked_for(self, called: CodeType) -> bool:
        """Whether the program itself reads: it calls one of `READERS`, or hands a tensor to another library."""
        if self._places.is_of_tensorflow(called.co_filename):
            return called.co_name in READERS
        return not self._places.is_in_other_library(2)
