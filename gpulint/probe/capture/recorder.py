"""Appending to the Capture. Standard library only, and nothing here raises for the disk: a run goes on without it."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any


class Recorder:
    """Appends records to a capture that other processes append to, too.

    A record is one line and one write, so that whatever kills the process leaves whole lines behind.
    """

    def __init__(self, path: str, *, fresh: bool = False) -> None:
        """`fresh` empties the file first."""
        self.error = ""
        """What first went wrong with the file, "" while all is well."""
        self.written = 0
        """How many bytes this recorder has added."""
        self._path = path
        self._lock = threading.Lock()
        self._torn = False
        """Whether the last line of ours lacks its end."""
        self._descriptor: int | None = None
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | (os.O_TRUNC if fresh else 0)
            self._descriptor = os.open(path, flags, 0o666)
        except OSError as error:
            self._fail(error)

    def write(self, kind: str, **fields: Any) -> None:
        """Appends a record, with the time; what JSON has no form for becomes a text."""
        text = json.dumps({"kind": kind, "t": round(time.time(), 6), **fields}, ensure_ascii=False, default=str)
        # A path that is no UTF-8 has lone surrogates: as \udcXX they are JSON, and come back as they were.
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
        """Drops all further records, in a fork: a thread that is not there may hold the lock."""
        self._lock = threading.Lock()
        self.close()

    def close(self) -> None:
        """Ends the writing; records that come later are dropped."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _fail(self, error: OSError | str) -> None:
        reason = error.strerror if isinstance(error, OSError) else error
        self.error = self.error or f"{self._path}: {reason}"
