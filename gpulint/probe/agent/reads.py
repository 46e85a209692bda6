"""Tensors that Python code reads, each of which makes the host wait."""

from __future__ import annotations

import functools
from typing import Any

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.guard import Fault, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.tally import Tally


class Reads:
    """Counts `.numpy()`, `float(t)`, `if t`, `print(t)` and similar by line and by the device they wait for.

    All of them end in one private method of eager tensors (2.16 and 2.21).
    """

    def __init__(self, places: Places, hooks: Hooks, fault: Fault) -> None:
        self._places, self._hooks = places, hooks
        self._note = guarded("reads by the host", fault, self._count)
        self.seen = Tally("reads")

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
        self.seen.count(self._places.here(), short(value.backing_device))
