"""Tensors that outlive the training step that created them, by line: what fills memory step by step.

Steps are sampled to keep the cost negligible: the first few, then ever fewer. Tensors left over from a step are counted
once as many steps have followed as preceded it.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from gpulint.probe.agent.places import Place
from gpulint.probe.agent.steps import Again
from gpulint.probe.agent.writer import Writer

FIRST = 8
"""Consecutive steps sampled at the start; after that, steps whose number is a power of two."""

NEEDED = 3
"""Sampled steps needed to report anything."""

MOST = 5000
"""Limit of remembered tensors per step."""


class Origin(NamedTuple):
    """The origin of a tensor."""

    place: Place | None
    op: str
    device: str


class Kept:
    """Remembers the tensors of sampled steps by weak references."""

    def __init__(self) -> None:
        self.is_looking = False
        """Whether the current step is sampled."""
        self._lock = threading.Lock()
        self._began = 0
        self._taken = 0
        self._next = NEEDED
        self._steps: dict[int, list[tuple[Origin, int, weakref.ref[Any]]]] = {}
        self._most: dict[Origin, tuple[int, int, int]] = {}
        """(steps that created some, steps that left some, bytes left), at the time when most had left some."""
        self._is_fresh = False

    def begin(self, taken: int) -> None:
        """Starts after a number of steps."""
        self._began = taken

    def add(self, origin: Origin, tensors: Iterable[tuple[Any, int]]) -> None:
        """Tensors created in this step, with their sizes in bytes."""
        with self._lock:
            known = self._steps.get(self._taken)
            if known is not None and len(known) < MOST:
                known += [(origin, size, weakref.ref(tensor)) for tensor, size in tensors]

    def stepped(self, taken: int) -> Again:
        """A step has ended, number `taken`; what follows belongs to the next one."""
        if not self._began:
            return Again()
        with self._lock:
            self._taken = taken - self._began + 1
            self.is_looking = self._taken <= FIRST or self._taken & (self._taken - 1) == 0
            if self.is_looking:
                self._steps[self._taken] = []
            if self._taken > 2 * self._next:
                self._count()
                self._next += max(1, self._next // 2)
            of_interest = min(1 << self._taken.bit_length(), 2 * self._next + 1)
            return Again(step=taken + (1 if self.is_looking else of_interest - self._taken))

    def _count(self) -> None:
        """Counts the tensors left of steps up to `_next`."""
        made, left, size = Counter[Origin](), Counter[Origin](), Counter[Origin]()
        looked = [tensors for number, tensors in self._steps.items() if number <= self._next]
        for tensors in looked:
            alive = [(origin, bytes) for origin, bytes, reference in tensors if reference() is not None]
            made.update({origin for origin, _, _ in tensors})
            left.update({origin for origin, _ in alive})
            for origin, bytes in alive:
                size[origin] += bytes
        for origin in made:
            if left[origin] >= self._most.get(origin, (0, 0, 0))[1]:
                self._most[origin] = made[origin], left[origin], size[origin]
        self._is_fresh = True

    def write(self, writer: Writer) -> None:
        """Writes new counts."""
        with self._lock:
            most = list(self._most.items()) if self._is_fresh else []
            self._is_fresh = False
        if most:
            rows = [[*writer.numbered(origin.place), origin.op, origin.device, *seen] for origin, seen in most]
            writer.write("kept", rows=rows)
