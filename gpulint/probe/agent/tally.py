"""Counts by place, written as rows."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from gpulint.probe.agent.places import Place
from gpulint.probe.agent.writer import Writer


class Tally:
    """Counts what happens at a place, as told apart by a few texts and numbers; threads may count at once.

    It is written as records of one kind, with rows of [file, row, *key, *numbers].
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._counts: dict[tuple[Place | None, tuple[Any, ...]], list[float]] = {}

    def add(self, place: Place | None, *key: Any, numbers: Iterable[float] = (1,)) -> None:
        """Adds to the numbers of a place and key."""
        with self._lock:
            counts = self._counts.setdefault((place, key), [])
            if counts:
                counts[:] = [before + more for before, more in zip(counts, numbers)]  # noqa: B905
            else:
                counts[:] = numbers

    def count(self, place: Place | None, *key: Any) -> None:
        """One more of a place and key: `add` for what happens in every step."""
        with self._lock:
            counts = self._counts.get((place, key))
            if counts is None:
                self._counts[place, key] = [1]
            else:
                counts[0] += 1

    def write(self, writer: Writer) -> None:
        """Write what was counted since the last time; nothing where nothing was."""
        with self._lock:
            counts, self._counts = self._counts, {}
        if counts:
            rows = [
                [*writer.numbered(place), *key, *(round(number, 6) for number in numbers)]
                for (place, key), numbers in counts.items()
            ]
            writer.write(self._kind, rows=rows)
