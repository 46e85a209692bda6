"""When the memory of devices is looked at: at the ends of steps, and every now and then."""

from __future__ import annotations

import time

from gpulint.probe.agent.device_memory import DeviceMemory
from gpulint.probe.agent.steps import Again
from gpulint.probe.agent.writer import Writer

MEASURED = "steps"
"""The phase in which memory is to stay as it is."""

EACH = 40
"""Steps after the warm-up at whose end memory is looked at one after the other, so that a short run shows something."""

GAP = 0.2
"""Seconds between two looks at the ends of later steps."""

SILENCE = 0.9
"""Seconds without a look after which one is taken wherever the program is."""


class MemoryWriter:
    """Writes what is in use on each device, and the peak since the phase began."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._memory: DeviceMemory | None = None
        self._phase = "build"
        self._steps = 0
        self._last = 0.0

    def begin(self, memory: DeviceMemory) -> None:
        """The runtime is initialised, and can be asked."""
        self._memory = memory

    def enter(self, phase: str) -> None:
        """A phase begins: peaks are those of this one from now on."""
        self._phase = phase
        if self._memory is not None:
            self._memory.reset_peaks()

    def stepped(self, taken: int, now: float) -> Again:
        """A step has ended, the `taken`th."""
        if self._phase != MEASURED:
            return Again(step=taken + 1)
        self._steps += 1
        if self._steps <= EACH or now - self._last >= GAP:
            self.write()
        return Again(step=taken + 1) if self._steps < EACH else Again(time=now + GAP)

    def write_on(self) -> None:
        """Look at it where nobody has for a while."""
        if time.perf_counter() - self._last >= SILENCE:
            self.write()

    def write(self) -> None:
        """Look at it now."""
        if self._memory is not None and (devices := self._memory.sample()):
            self._last = time.perf_counter()
            self._writer.write("memory", phase=self._phase, devices=devices)
