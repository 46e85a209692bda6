"""Training steps as they are taken."""

from __future__ import annotations

import threading

from gpulint.probe.agent.places import Place
from gpulint.probe.agent.writer import Writer


class Steps:
    """Counts steps by the function that is the step and the place that calls it, with the seconds of each."""

    def __init__(self) -> None:
        self.taken = 0
        """Steps of all functions so far."""
        self._fresh: dict[tuple[str, Place | None], list[float]] = {}
        self._lock = threading.Lock()

    def add(self, function: str, place: Place | None, seconds: float) -> None:
        """One more step."""
        with self._lock:
            self.taken += 1
            self._fresh.setdefault((function, place), []).append(seconds)

    def write(self, writer: Writer) -> None:
        """Write the steps since the last time."""
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        for (name, where), seconds in fresh.items():
            writer.write(
                "steps",
                name=name,
                where=where,
                count=len(seconds),
                seconds=round(sum(seconds), 6),
                slowest=round(max(seconds), 6),
            )
