"""Cost of the agent itself to the program."""

from __future__ import annotations

import time

from gpulint.probe.agent.guard import Guard
from gpulint.probe.agent.operations import Operations
from gpulint.probe.agent.writer import Writer

PERIOD = 10.0
"""Seconds between two records: the last one counts."""


class Costs:
    """Seconds of hooks and of counting eager operations, and processor time of the thread that writes."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._writing = 0.0
        self._due = 0.0

    def note_thread(self) -> None:
        """Called by the thread that writes."""
        self._writing = time.thread_time()

    def write(self, writer: Writer, operations: Operations, *, last: bool = False) -> None:
        """Writes the costs so far if they are due."""
        now = time.perf_counter()
        if last or now >= self._due:
            self._due = now + PERIOD
            writer.write(
                "cost",
                hooks=round(self._guard.spent, 6),
                counting=round(operations.counting_seconds, 6),
                writing=round(self._writing, 6),
            )
