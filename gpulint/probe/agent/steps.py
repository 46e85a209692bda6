"""Training steps as they are taken."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from gpulint.probe.agent.places import Place
from gpulint.probe.agent.writer import Writer

FEW = 30
"""Eager operations from one step to the next that are no sign of trouble: metrics, logging, a schedule."""


EACH = 2_000
"""Steps that are told of one by one; those that come later, in sum only."""

NEVER = float("inf")

OnStep: TypeAlias = Callable[[str, "Place | None", float, float], None]
"""Is told of a training step: its function, the place that called it, when it ended (`time.perf_counter`) and the
seconds since the one before it."""


class Again(NamedTuple):
    """When something is to be told of a step again: at the end of the `step`th, or of the first after a time
    (`time.perf_counter`). A step is too short to tell everybody of it."""

    step: float = NEVER
    time: float = NEVER

    def or_(self, other: Again) -> Again:
        """The earlier of both, for each."""
        return Again(min(self.step, other.step), min(self.time, other.time))


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
        self._fresh: list[tuple[tuple[str, Place | None], float, float, int]] = []
        self._before: dict[tuple[str, Place | None], int] = {}
        self._told = 0
        self._lock = threading.Lock()
        self._epoch = time.time() - time.perf_counter()

    def add(self, function: str, place: Place | None, ended: float, seconds: float, operations: int) -> int:
        """One more step; `operations` is the number of eager operations that were run so far. How many there are."""
        with self._lock:
            self._fresh.append(((function, place), ended, seconds, operations))
            self.taken += 1
            return self.taken

    def _summed(self) -> dict[tuple[str, Place | None], _Fresh]:
        fresh: dict[tuple[str, Place | None], _Fresh] = {}
        for key, ended, seconds, operations in self._fresh:
            of_key = fresh.setdefault(key, _Fresh())
            of_key.steps.append((self._epoch + ended, seconds))
            between = operations - self._before.get(key, operations)
            self._before[key] = operations
            if between > FEW:
                of_key.busy += 1
                of_key.operations += between
        self._fresh = []
        return fresh

    def write(self, writer: Writer) -> None:
        """Write the steps since the last time."""
        with self._lock:  # two threads write, and the second sum goes on from the first
            fresh = self._summed()
        for (name, where), one in fresh.items():
            lasted = [seconds for _, seconds in one.steps]
            each = one.steps[: max(0, EACH - self._told)]
            self._told += len(each)
            writer.write(
                "steps",
                name=name,
                where=where,
                count=len(lasted),
                seconds=round(sum(lasted), 6),
                slowest=round(max(lasted), 6),
                busy=[one.busy, one.operations],
                ended=round(one.steps[-1][0], 6),
                each=[[round(moment, 6), round(seconds, 6)] for moment, seconds in each],
            )
