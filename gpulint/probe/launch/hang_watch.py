"""Telling a program that hangs from one that works in silence."""

from __future__ import annotations

_BUSY = 0.01
"""A program that spends less than this part of the time on a processor waits. Two replicas of MirroredStrategy on one
CPU, which never end, take 5 s in 10 minutes."""

_PAUSE = 5.0
"""A longer time between two looks is one in which the program had no more of a chance to run than we had: the job was
stopped from the terminal, the machine slept."""


class HangWatch:
    """Looks at a program again and again. It hangs when nothing came of it for `limit` seconds and it hardly ran."""

    def __init__(self, limit: float | None, now: float) -> None:
        self._limit = limit
        self._since = self._looked = now
        self._seen: tuple[int, ...] | None = None
        self._spent = 0.0

    def look(self, now: float, seen: tuple[int, ...], spent: float, *, blocked: bool = False) -> bool:
        """Whether it hangs.

        `seen` changes with whatever comes of the program, `spent` is its processor time since the last look; it is
        `blocked` while somebody else, the reader of its output, lets it wait.
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
