"""Counts by line of code, written as rows."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from gpulint.probe.agent.places import Place
from gpulint.probe.agent.writer import Writer


class Tally:
    """Counts events by line and by a key of texts and numbers. Thread-safe.

    Written as records of one kind, with rows [file, row, *key, *numbers].
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._counts: dict[tuple[Place | None, tuple[Any, ...]], list[float]] = {}

    def add(self, place: Place | None, *key: Any, numbers: Iterable[float] = (1,)) -> None:
        """Adds to the numbers of a line and key."""
        with self._lock:
            counts = self._counts.setdefault((place, key), [])
            if counts:
                counts[:] = [before + more for before, more in zip(counts, numbers)]  # noqa: B905
            else:
                counts[:] = numbers

    def count(self, place: Place | None, *key: Any) -> None:
        """Adds one to a line and key; faster than `add`, for every step."""
        with self._lock:
            counts = self._counts.get((place, key))
            if counts is None:
                self._counts[place, key] = [1]
            else:
                counts[0] += 1

    def write(self, writer: Writer) -> None:
        """Writes the counts since the last time, if any."""
        with self._lock:
            counts, self._counts = self._counts, {}
        if counts:
            rows = [
                [*writer.numbered(place), *key, *(round(number, 6) for number in numbers)]
                for (place, key), numbers in counts.items()
            ]
            writer.write(self._kind, rows=rows)
