"""Tensors that the program reads into Python: the host waits for each."""

from __future__ import annotations

from typing import Any

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.guard import Fault, guarded
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.tally import Tally


class Reads:
    """Counts `.numpy()`, `float(t)`, `if t`, `print(t)` and their like by place and by the device they wait for."""

    def __init__(self, places: Places, fault: Fault) -> None:
        self._places = places
        self._note = guarded("reads by the host", fault, self._count)
        self.seen = Tally("reads")

    def watch(self, internals: Internals) -> None:
        """Count from now on."""
        internals.watch_reads(self._note)

    def _count(self, value: Any) -> None:
        self.seen.count(self._places.here(), short(value.backing_device))
