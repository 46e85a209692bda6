"""Training steps as they are taken."""

from __future__ import annotations

import threading
import time

from gpulint.probe.agent.places import Place
from gpulint.probe.agent.writer import Writer

FEW = 30
"""Eager operations from one step to the next that are no sign of trouble: metrics, logging, a schedule."""


EACH = 2_000
"""Steps that are told of one by one; those that come later, in sum only."""


class _Fresh:
    """Steps of one function and place that are not written yet: when each ended, with its seconds; how many came after
    more than FEW eager operations, and how many operations these were."""

    __slots__ = ("busy", "operations", "steps")

    def __init__(self) -> None:
        self.steps: list[tuple[float, float]] = []
        self.busy = 0
        self.operations = 0


class Steps:
    """Counts steps by the function that is the step and the place that calls it."""

    def __init__(self) -> None:
        self.taken = 0
        """Steps of all functions so far."""
        self._fresh: dict[tuple[str, Place | None], _Fresh] = {}
        self._before: dict[tuple[str, Place | None], int] = {}
        self._told = 0
        self._lock = threading.Lock()

    def add(self, function: str, place: Place | None, seconds: float, operations: int) -> None:
        """One more step; `operations` is the number of eager operations that were run so far."""
        key = (function, place)
        with self._lock:
            self.taken += 1
            fresh = self._fresh.setdefault(key, _Fresh())
            fresh.steps.append((time.time(), seconds))
            between = operations - self._before.get(key, operations)
            self._before[key] = operations
            if between > FEW:
                fresh.busy += 1
                fresh.operations += between

    def write(self, writer: Writer) -> None:
        """Write the steps since the last time."""
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        for (name, where), one in fresh.items():
            seconds = [lasted for _, lasted in one.steps]
            each = one.steps[: max(0, EACH - self._told)]
            self._told += len(each)
            writer.write(
                "steps",
                name=name,
                where=where,
                count=len(seconds),
                seconds=round(sum(seconds), 6),
                slowest=round(max(seconds), 6),
                busy=[one.busy, one.operations],
                ended=round(one.steps[-1][0], 6),
                each=[[round(moment, 6), round(lasted, 6)] for moment, lasted in each],
            )
