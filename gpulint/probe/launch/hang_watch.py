"""Tells a hanging program from one that works silently."""

from __future__ import annotations

_BUSY = 0.01
"""A program that uses less than this share of a processor is waiting. Two replicas of MirroredStrategy on one CPU,
which deadlock, use 5 s in 10 minutes."""

_PAUSE = 5.0
"""Seconds. After a longer gap between two looks the program cannot have run any more than we did: the job was
suspended, or the machine slept."""


class HangWatch:
    """Polls a program. It hangs if there was no activity for `limit` seconds and hardly any processor time."""

    def __init__(self, limit: float | None, now: float) -> None:
        self._limit = limit
        self._since = self._looked = now
        self._seen: tuple[int, ...] | None = None
        self._spent = 0.0

    def look(self, now: float, seen: tuple[int, ...], spent: float, *, blocked: bool = False) -> bool:
        """Whether it hangs.

        `seen` changes with any activity of the program. `spent` is its processor time since the last look. `blocked`:
        it waits for the reader of its output.
        """
        if self._limit is None:
            return False
        gap, self._looked = now - self._looked, now
        if gap > _PAUSE:
            self._since += gap
        self._spent += spent
        if blocked or seen != self._seen or self._spent >= _BUSY * self._limit:
            self._since, self._seen, self._spent = now, seen, 0.0
        return now - self._since >= self._limit
