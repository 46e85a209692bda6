"""Tensors that Python code reads, each of which makes the host wait."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.guard import Fault, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.tally import Tally

_LOOPS = tuple(
    os.path.join("", *parts)
    for parts in (
        ("keras", "src", "trainers", ""),
        ("keras", "src", "callbacks", ""),
        ("keras", "src", "backend", "tensorflow", "trainer.py"),
        ("tf_keras", "src", "callbacks.py"),
        ("tf_keras", "src", "engine", "training.py"),
    )
)
"""Files of the training loop of Keras (3) and of `tf_keras` (2), and of their callbacks."""


class Reads:
    """Counts `.numpy()`, `float(t)`, `if t`, `print(t)` and similar by line and by the device they wait for, and the
    training steps after which each line reads.

    All of them end in one private method of eager tensors (2.16 and 2.21). What Keras reads for its progress bar and
    callbacks is not the program's doing: only the reads are counted, not the steps.
    """

    def __init__(self, places: Places, hooks: Hooks, fault: Fault, steps: Callable[[], int]) -> None:
        """`steps` returns the number of training steps so far."""
        self._places, self._hooks, self._steps = places, hooks, steps
        self._note = guarded("reads by the host", fault, self._count)
        self._last: dict[tuple[Place | None, str], int] = {}
        """The step after which a line last read a device."""
        self._of_keras: dict[str, bool] = {}
        self.seen = Tally("reads")
        self.steps = Tally("step reads")

    def watch(self, internals: Internals) -> None:
        tensor = internals.eager_tensor
        if tensor is None:
            return
        original, note = tensor._numpy, self._note

        @functools.wraps(original)
        def read(value: Any) -> Any:
            note(value)
            return original(value)

        self._hooks.replace(tensor, "_numpy", read)

    def _count(self, value: Any) -> None:
        place, device = self._places.here(), short(value.backing_device)
        self.seen.count(place, device)
        steps = self._steps()
        last = self._last.get((place, device), steps - 1)
        if steps and steps != last and not self._is_for_keras(sys._getframe(2)):
            self._last[place, device] = steps
            self.steps.add(place, device, numbers=(1, steps - last))

    def _is_for_keras(self, frame: FrameType | None) -> bool:
        """Whether the training loop of Keras, or a callback of its own, reads between the program and TensorFlow."""
        while frame is not None:
            path = frame.f_code.co_filename
            if not self._places.is_foreign(path):
                return False
            known = self._of_keras.get(path)
            if known is None:
                known = self._of_keras[path] = any(part in path for part in _LOOPS)
            if known:
                return True
            frame = frame.f_back
        return False
