"""Appends records to the Capture from inside the program."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any


class Writer:
    """Writes each record with one call to a descriptor in append mode, so that lines of two processes never mix.

    A full disk ends the writing, not the program.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        self._lock = threading.Lock()
        self._files: dict[str, int] = {}
        self._is_open = True

    def write(self, kind: str, **fields: Any) -> None:
        """Append one record."""
        if not self._is_open:
            return
        line = json.dumps({"kind": kind, "t": round(time.time(), 3), **fields}, default=str) + "\n"
        try:
            os.write(self._descriptor, line.encode("utf-8", "backslashreplace"))
        except OSError:
            self._is_open = False

    def file(self, path: str) -> int:
        """The number that stands for a file in rows; told of when it is first used."""
        with self._lock:
            number = self._files.get(path)
            if number is None:
                number = self._files[path] = len(self._files)
                self.write("file", id=number, path=path)
        return number

    def close(self) -> None:
        """Write nothing more."""
        if self._is_open:
            self._is_open = False
            os.close(self._descriptor)
