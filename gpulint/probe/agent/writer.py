"""Appends records to the Capture from inside the program."""

from __future__ import annotations

import hashlib
import io
import os
import threading
import tokenize

from gpulint.probe.recorder import Recorder

LONGEST = 200_000
"""Bytes of a file whose text is kept. Of a longer one its digest tells later whether it is still the same."""

MOST = 500_000
"""Bytes of text that are kept of all files together."""


class Writer(Recorder):
    """A recorder that numbers files, which stand in many rows, and keeps their text."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._files: dict[str, int] = {}
        self._left = MOST
        self._numbering = threading.Lock()

    def file(self, path: str) -> int:
        """The number that stands for a file in rows; told of when it is first used."""
        with self._numbering:
            number = self._files.get(path)
            if number is None:
                number = self._files[path] = len(self._files)
                self.write("file", id=number, path=path)
                self._keep(path)
        return number

    def _keep(self, path: str) -> None:
        """The text as it is now: whoever edits it while the program runs must not move the rows of the report."""
        try:
            with open(path, "rb") as file:
                modified = os.fstat(file.fileno()).st_mtime
                data = file.read()
        except (OSError, ValueError):
            return  # it is no file: a cell of a notebook, code that was generated
        text = None
        if len(data) <= min(LONGEST, self._left):
            text = _decoded(data)
            self._left -= len(data)
        self.write("source", path=path, modified=modified, digest=hashlib.sha256(data).hexdigest(), text=text)


def _decoded(data: bytes) -> str | None:
    """What Python reads, with its rows; None for what is no text."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return io.TextIOWrapper(io.BytesIO(data), encoding).read()
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return None
