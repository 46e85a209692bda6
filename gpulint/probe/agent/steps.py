"""Training steps as they are taken."""

from __future__ import annotations

import threading

from gpulint.probe.agent.places import Place
from gpulint.probe.agent.writer import Writer

FEW = 30
"""Eager operations from one step to the next that are no sign of trouble: metrics, logging, a schedule."""


class _Fresh:
    """Steps of one function and place that are not written yet: seconds of each; how many came after more than FEW
    eager operations, and how many operations these were."""

    __slots__ = ("busy", "operations", "seconds")

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.busy = 0
        self.operations = 0


class Steps:
    """Counts steps by the function that is the step and the place that calls it."""

    def __init__(self) -> None:
        self.taken = 0
        """Steps of all functions so far."""
        self._fresh: dict[tuple[str, Place | None], _Fresh] = {}
        self._before: dict[tuple[str, Place | None], int] = {}
        self._lock = threading.Lock()

    def add(self, function: str, place: Place | None, seconds: float, operations: int) -> None:
        """One more step; `operations` is the number of eager operations that were run so far."""
        key = (function, place)
        with self._lock:
            self.taken += 1
            fresh = self._fresh.setdefault(key, _Fresh())
            fresh.seconds.append(seconds)
            between = operations - self._before.get(key, operations)
            self._before[key] = operations
            if between > FEW:
                fresh.busy += 1
                fresh.operations += between

    def write(self, writer: Writer) -> None:
        """Write the steps since the last time."""
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        for (name, where), steps in fresh.items():
            writer.write(
                "steps",
                name=name,
                where=where,
                count=len(steps.seconds),
                seconds=round(sum(steps.seconds), 6),
                slowest=round(max(steps.seconds), 6),
                busy=[steps.busy, steps.operations],
            )
