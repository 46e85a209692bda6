"""How far a long check is, on a terminal."""

from __future__ import annotations

import os
import time
from typing import TextIO

_DELAY = 2.0
"""Seconds before the first line: most checks are over by then."""

_PAUSE = 0.2
"""Seconds between two lines."""

_CLEAR = "\r\x1b[K"


class Progress:
    """Rewrites one line of a terminal, and removes it once all files were analysed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._next = time.monotonic() + _DELAY
        self._is_shown = False
        self._most = 0

    def __call__(self, done: int, total: int) -> None:
        if done >= total:
            if self._is_shown:
                self._write(_CLEAR)
            self._is_shown, self._most = False, 0
        elif time.monotonic() >= self._next:
            self._most = max(self._most, done)  # a worker that reads an imported file is at none of its own
            self._write(f"{_CLEAR}gpulint: {self._most} of {total} files analysed")
            self._is_shown = True
            self._next = time.monotonic() + _PAUSE

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def silent(done: int, total: int) -> None:
    """No progress: of a check that nobody watches."""


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal on which a line can be rewritten."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
