"""Appends records to the Capture from inside the program."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading

from gpulint.probe.agent.places import Place
from gpulint.probe.capture.recorder import Recorder
from gpulint.sources.decoding import Undecodable, decode

LONGEST = 200_000
"""Bytes of a file whose text is kept. Of a longer one its digest tells later whether it is still the same."""

MOST = 500_000
"""Bytes of text that are kept of all files together."""


class Writer(Recorder):
    """A recorder that numbers files, which stand in many rows, and keeps their text."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._files: dict[tuple[str, int | None], int] = {}
        self._kept: set[str] = set()
        self._left = MOST
        self._numbering = threading.Lock()

    def file(self, path: str, cell: int | None = None) -> int:
        """The number that stands for a file, or a cell of a notebook, in rows; told of when it is first used."""
        with self._numbering:
            number = self._files.get((path, cell))
            if number is None:
                number = self._files[path, cell] = len(self._files)
                self.write("file", id=number, path=path, **({} if cell is None else {"cell": cell}))
                self._keep(path)
        return number

    def keep(self, path: str) -> None:
        """Keeps the text of a file as it is now: whoever edits it while the program runs must not move the rows of the
        report."""
        with self._numbering:
            self._keep(path)

    def _keep(self, path: str) -> None:
        if path in self._kept:
            return
        self._kept.add(path)
        try:
            with open(path, "rb") as file:
                modified = os.fstat(file.fileno()).st_mtime
                data = file.read()
        except (OSError, ValueError):
            return  # it is no file: a cell of a notebook, code that was generated
        text = None
        if len(data) <= min(LONGEST, self._left):
            with contextlib.suppress(Undecodable):
                text = decode(path, data).text
                self._left -= len(data)
        self.write("source", path=path, modified=modified, digest=hashlib.sha256(data).hexdigest(), text=text)

    def numbered(self, place: Place | None) -> tuple[int | None, int]:
        """A place as rows have it: the number of its file, null for none, and its row."""
        return (self.file(place[0], *place[2:]), place[1]) if place is not None else (None, 0)
