"""Counts training steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from gpulint.probe.agent.passes import Passes
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.states import States
from gpulint.probe.agent.writer import Writer

FEW = 30
"""Eager operations between steps that are normal: metrics, logging, a schedule."""


EACH = 2_000
"""Steps recorded individually; later ones are only summed up."""

NEVER = float("inf")

OnStep: TypeAlias = Callable[[str, "Place | None", float, float], None]
"""Receives a training step: function, calling line, end (`time.perf_counter`), and seconds since the previous one."""


class Again(NamedTuple):
    """When an observer is to be called again: at the end of step number `step`, or of the first step after a time
    (`time.perf_counter`). Steps are too short to call every observer each time."""

    step: float = NEVER
    time: float = NEVER

    def or_(self, other: Again) -> Again:
        """The earlier of both, for each field."""
        return Again(min(self.step, other.step), min(self.time, other.time))


class _Fresh:
    """Unwritten steps of one function and line: end and seconds of each; how many followed more than FEW eager
    operations, and the number of these operations."""

    __slots__ = ("busy", "operations", "steps")

    def __init__(self) -> None:
        self.steps: list[tuple[float, float]] = []
        self.busy = 0
        self.operations = 0


class Steps:
    """Counts steps by function and calling line."""

    def __init__(self, states: States, places: Places) -> None:
        self.passes = Passes(states, places)
        self.taken = 0
        """Steps of all functions so far."""
        self.ended = 0.0
        """When the last one did (`time.perf_counter`)."""
        self._fresh: list[tuple[tuple[str, Place | None], float, float, int]] = []
        self._before: dict[tuple[str, Place | None], int] = {}
        self._told = 0
        self._lock = threading.Lock()
        self._epoch = time.time() - time.perf_counter()

    def add(self, function: str, place: Place | None, ended: float, seconds: float, operations: int) -> int:
        """Adds a step; `operations` is the number of eager operations so far. Returns the number of steps."""
        with self._lock:
            self._fresh.append(((function, place), ended, seconds, operations))
            self.taken += 1
            self.ended = ended
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
        """Writes the steps since the last time."""
        with self._lock:  # two threads write; the second sum continues the first
            fresh = self._summed()
            merged = self.passes.take()
        for name, where in merged.keys() - fresh.keys():
            writer.write("steps", name=name, where=where, count=0, merged=merged[name, where])
        for (name, where), one in fresh.items():
            lasted = [seconds for _, seconds in one.steps]
            each = one.steps[: max(0, EACH - self._told)]
            self._told += len(each)
            writer.write(
                "steps",
                name=name,
                where=where,
                count=len(lasted),
                merged=merged[name, where],
                seconds=round(sum(lasted), 6),
                slowest=round(max(lasted), 6),
                busy=[one.busy, one.operations],
                ended=round(one.steps[-1][0], 6),
                each=[[round(moment, 6), round(seconds, 6)] for moment, seconds in each],
            )
