"""Appends to a capture. Standard library only; disk errors are kept, not raised, so that the run goes on."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any


class Recorder:
    """Appends records to a capture that other processes also append to.

    One record is one line and one write, so that a killed process leaves whole lines.
    """

    def __init__(self, path: str, *, fresh: bool = False) -> None:
        """`fresh` empties the file first."""
        self.error = ""
        """The first error with the file, "" if none."""
        self.written = 0
        """Bytes added by this recorder."""
        self._path = path
        self._lock = threading.Lock()
        self._torn = False
        """Whether our last line is incomplete."""
        self._descriptor: int | None = None
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | (os.O_TRUNC if fresh else 0)
            self._descriptor = os.open(path, flags, 0o666)
        except OSError as error:
            self._fail(error)

    def write(self, kind: str, **fields: Any) -> None:
        """Appends a record with the time; values that JSON cannot represent are written as text."""
        text = json.dumps({"kind": kind, "t": round(time.time(), 6), **fields}, ensure_ascii=False, default=str)
        # Paths that are not UTF-8 have lone surrogates: written as \udcXX they survive the round trip through JSON.
        line = text.encode("utf-8", "backslashreplace") + b"\n"
        with self._lock:
            if self._descriptor is None:
                return
            if self._torn:
                line = b"\n" + line
            try:
                added = os.write(self._descriptor, line)
            except OSError as error:
                self._fail(error)
                return
            self.written += added
            self._torn = added < len(line)
            if self._torn:
                self._fail("the disk is full")

    def abandon(self) -> None:
        """Drops all further records in a fork, where a thread that no longer exists may hold the lock."""
        self._lock = threading.Lock()
        self.close()

    def close(self) -> None:
        """Stops writing; later records are dropped."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _fail(self, error: OSError | str) -> None:
        reason = error.strerror if isinstance(error, OSError) else error
        self.error = self.error or f"{self._path}: {reason}"
