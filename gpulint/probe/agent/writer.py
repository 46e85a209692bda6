"""Appends records to the capture from inside the program."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading

from gpulint.probe.agent.places import Place
from gpulint.probe.capture.recorder import Recorder
from gpulint.sources.decoding import Undecodable, decode

LONGEST = 200_000
"""Bytes of a file up to which its text is kept; a digest of a longer one shows whether it changes."""

MOST = 500_000
"""Total bytes of text kept."""


class Writer(Recorder):
    """A recorder that refers to files by number, as they occur in many rows, and keeps their text."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._files: dict[tuple[str, int | None], int] = {}
        self._kept: set[str] = set()
        self._left = MOST
        self._numbering = threading.Lock()

    def file(self, path: str, cell: int | None = None) -> int:
        """Number of a file, or of a notebook's cell; recorded at first use."""
        with self._numbering:
            number = self._files.get((path, cell))
            if number is None:
                number = self._files[path, cell] = len(self._files)
                self.write("file", id=number, path=path, **({} if cell is None else {"cell": cell}))
                self._keep(path)
        return number

    def keep(self, path: str) -> None:
        """Keeps the current text of a file: edits while the program runs must not shift the rows of the report."""
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
            return  # not a file: a notebook's cell, generated code
        text = None
        if len(data) <= min(LONGEST, self._left):
            with contextlib.suppress(Undecodable):
                text = decode(path, data).text
                self._left -= len(data)
        self.write("source", path=path, modified=modified, digest=hashlib.sha256(data).hexdigest(), text=text)

    def numbered(self, place: Place | None) -> tuple[int | None, int]:
        """Number of a place's file, and its row; (None, 0) for no place."""
        return (self.file(place[0], *place[2:]), place[1]) if place is not None else (None, 0)
