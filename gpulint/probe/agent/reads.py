"""Tensors that the program reads into Python: the host waits for each."""

from __future__ import annotations

import functools
from typing import Any

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.tally import Tally


class Reads:
    """Counts `.numpy()`, `float(t)`, `if t`, `print(t)` and their like by place and by the device they wait for.

    All of them end in one method of eager tensors, which is none of the public ones (2.16 and 2.21).
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self.seen = Tally("reads")

    def watch(self, internals: Internals) -> None:
        tensor = internals.eager_tensor
        if tensor is None:
            return
        original, places, seen = tensor._numpy, self._places, self.seen

        @functools.wraps(original)
        def read(value: Any) -> Any:
            seen.add(places.here(2), short(value.backing_device))
            return original(value)

        tensor._numpy = read
