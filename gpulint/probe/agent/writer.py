"""Appends records to the Capture from inside the program."""

from __future__ import annotations

import threading

from gpulint.probe.agent.places import Place
from gpulint.probe.recorder import Recorder


class Writer(Recorder):
    """A recorder that numbers files, which stand in many rows."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._files: dict[str, int] = {}
        self._numbering = threading.Lock()

    def file(self, path: str) -> int:
        """The number that stands for a file in rows; told of when it is first used."""
        with self._numbering:
            number = self._files.get(path)
            if number is None:
                number = self._files[path] = len(self._files)
                self.write("file", id=number, path=path)
        return number

    def numbered(self, place: Place | None) -> tuple[int | None, int]:
        """A place as rows have it: the number of its file, null for none, and its row."""
        return (self.file(place[0]), place[1]) if place is not None else (None, 0)
