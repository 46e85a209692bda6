"""Samples device memory at the ends of steps and at intervals."""

from __future__ import annotations

import time

from gpulint.probe.agent.device_memory import DeviceMemory
from gpulint.probe.agent.steps import Again
from gpulint.probe.agent.writer import Writer

MEASURED = "steps"
"""The phase in which memory should stay constant."""

EACH = 40
"""Steps after the warm-up that are all sampled, so that short runs have data."""

GAP = 0.2
"""Seconds between two samples at the ends of later steps."""

SILENCE = 0.9
"""Seconds without a sample after which one is taken in any case."""

FREQUENT = 240
"""Samples taken every GAP seconds as long as there is no training step: short runs that do not train have data, too."""


class MemoryWriter:
    """Writes memory in use on each device, and its peak within the phase."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._memory: DeviceMemory | None = None
        self._phase = "build"
        self._steps = self._taken = 0
        self._last = 0.0

    def begin(self, memory: DeviceMemory) -> None:
        """The runtime is up and can be queried."""
        self._memory = memory

    def enter(self, phase: str) -> None:
        """A phase begins; peaks are reset."""
        self._phase = phase
        if self._memory is not None:
            self._memory.reset_peaks()

    def stepped(self, taken: int, now: float) -> Again:
        """Step number `taken` has ended."""
        if self._phase != MEASURED:
            return Again(step=taken + 1)
        self._steps += 1
        if self._steps <= EACH or now - self._last >= GAP:
            self.write()
        return Again(step=taken + 1) if self._steps < EACH else Again(time=now + GAP)

    def write_on(self) -> None:
        """Takes a sample if there was none for a while."""
        is_frequent = self._phase != MEASURED and self._taken < FREQUENT
        if time.perf_counter() - self._last >= (GAP if is_frequent else SILENCE):
            self.write()

    def write(self) -> None:
        """Takes a sample now."""
        if self._memory is not None and (devices := self._memory.sample()):
            self._last = time.perf_counter()
            self._taken += 1
            self._writer.write("memory", phase=self._phase, devices=devices)
