"""Appends records to the Capture from inside the program."""

from __future__ import annotations

import threading

from gpulint.probe.recorder import Recorder


class Writer(Recorder):
    """A recorder that numbers files, which stand in many rows."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._files: dict[tuple[str, int | None], int] = {}
        self._numbering = threading.Lock()

    def file(self, path: str, cell: int | None = None) -> int:
        """The number that stands for a file, or a cell of a notebook, in rows; told of when it is first used."""
        with self._numbering:
            number = self._files.get((path, cell))
            if number is None:
                number = self._files[path, cell] = len(self._files)
                self.write("file", id=number, path=path, **({} if cell is None else {"cell": cell}))
        return number
