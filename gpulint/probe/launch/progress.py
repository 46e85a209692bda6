"""The line on the terminal that says how far a run is, without getting into the program's own output."""

from __future__ import annotations

import os
import re
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gpulint.probe.launch.capture_tail import CaptureTail
from gpulint.probe.measures.sizes import in_words

_ERASE = b"\r\x1b[K"

_MOVES = re.compile(rb"\x1b(?:[78M]|\[[\d;]*[ABEFHJSTdfsu]|\[\?(?:47|1047|1049)[hl])")
"""The program moves the cursor up and down, or takes the whole screen: it draws, and we no longer do."""

_INTERVAL = 0.5
"""Seconds between two drawings of the same screen line."""


class ProgressLine:
    """A line below the program's output. It is there only while the cursor is at the start of a line: what a program
    leaves unfinished, a prompt or a progress bar of its own, stays as it is."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._drawn = False
        self._free = True
        """Whether the cursor is at the start of a line."""
        self._quiet = False
        """Whether we do not draw any more."""
        self._due = 0.0

    @classmethod
    def on(cls, descriptor: int | None) -> ProgressLine | None:
        """A line on a terminal that can erase one; None where there is no such."""
        if descriptor is None or not os.isatty(descriptor) or os.environ.get("TERM", "dumb") == "dumb":
            return None
        return cls(descriptor)

    @contextmanager
    def aside(self, text: bytes) -> Iterator[None]:
        """Steps aside while somebody writes `text` to the same terminal."""
        with self._lock:
            self._erase()
            self._quiet = self._quiet or _MOVES.search(text) is not None
            yield
            if text:
                self._free = text.endswith(b"\n")

    def draw(self, seen: CaptureTail, seconds: float) -> None:
        """Shows what was seen so far. Does nothing while the program's output waits for the terminal."""
        if seconds < self._due or not self._lock.acquire(blocking=False):
            return
        try:
            if self._free and not self._quiet and self._takes_text() and self._in_foreground():
                self._due = seconds + _INTERVAL
                columns = os.get_terminal_size(self._descriptor).columns or 80
                line = f"gpulint: {describe(seen, seconds)}"[: columns - 1]
                self._drawn = True
                os.write(self._descriptor, _ERASE + line.encode("ascii", "replace"))
        except OSError:
            self._quiet = True  # the terminal is gone
        finally:
            self._lock.release()

    def close(self) -> None:
        """Takes the line away for good."""
        if self._lock.acquire(timeout=1):
            self._quiet = True
            if self._takes_text():
                self._erase()
            self._lock.release()

    def _erase(self) -> None:
        if self._drawn:
            self._drawn = False
            try:
                os.write(self._descriptor, _ERASE)
            except OSError:
                self._quiet = True

    def _takes_text(self) -> bool:
        """Not so for a terminal that the user has stopped: a write would last until he lets it go on."""
        return bool(select.select([], [self._descriptor], [], 0)[1])

    def _in_foreground(self) -> bool:
        """Not so for a job in the background, which has no business on the terminal."""
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:
            return True  # a terminal without jobs


def describe(seen: CaptureTail, seconds: float) -> str:
    """What was seen, in one line of ASCII characters."""
    minutes, rest = divmod(int(seconds), 60)
    parts = [f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"]
    if seen.steps:
        parts.append(_counted(seen.steps, "step"))
    if seen.operations:
        parts.append(_counted(seen.operations, "operation"))
    parts += [f"{device} {in_words(used)}" for device, used in sorted(seen.devices.items()) if used]
    if seen.resident:
        parts.append(f"host {in_words(seen.resident)}")
    return ", ".join(parts)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
