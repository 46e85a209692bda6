"""Processes that the kernel killed for lack of memory."""

from __future__ import annotations

_COUNTERS = "/proc/vmstat"


def kills_for_memory() -> int | None:
    """Number of processes killed for memory since the machine booted, in and outside control groups. None if
    unknown."""
    try:
        with open(_COUNTERS, encoding="ascii") as counters:
            for line in counters:
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
    except (OSError, ValueError):
        pass
    return None
