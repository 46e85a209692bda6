"""The progress line on the terminal, which stays clear of the program's own output."""

from __future__ import annotations

import os
import re
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpulint.probe.launch.capture_tail import CaptureTail
from gpulint.probe.measures.number_words import counted
from gpulint.probe.measures.sizes import in_words

_ERASE = b"\r\x1b[K"

_MOVES = re.compile(rb"\x1b(?:[78M]|\[[\d;]*[ABEFHJSTdfsu]|\[\?(?:47|1047|1049)[hl])")
"""Escape sequences that move the cursor up and down or take the whole screen. After one the program draws, and we do
not."""

_INTERVAL = 0.5
"""Seconds between two updates."""


Describe = Callable[[CaptureTail, float], str]
"""The progress in one line of ASCII, from what the capture tells and the seconds since the beginning."""


def describe(seen: CaptureTail, seconds: float) -> str:
    """The progress of a program that is probed."""
    parts = [clock(seconds)]
    if seen.steps:
        parts.append(counted(seen.steps, "step"))
    if seen.operations:
        parts.append(counted(seen.operations, "operation"))
    parts += [f"{device} {in_words(used)}" for device, used in sorted(seen.devices.items()) if used]
    if seen.resident:
        parts.append(f"host {in_words(seen.resident)}")
    return ", ".join(parts)


def clock(seconds: float) -> str:
    """Time as `5:07`, and `1:02:05` from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


class ProgressLine:
    """A line below the program's output, shown only while the cursor is at the start of a line: an unfinished line,
    such as a prompt or a progress bar, is left alone."""

    def __init__(self, descriptor: int, describe: Describe = describe) -> None:
        self._descriptor, self._describe = descriptor, describe
        self._lock = threading.Lock()
        self._drawn = False
        self._free = True
        """Whether the cursor is at the start of a line."""
        self._quiet = False
        """Whether drawing has stopped for good."""
        self._due = 0.0

    @classmethod
    def on(cls, descriptor: int | None, describe: Describe = describe) -> ProgressLine | None:
        """A line on a terminal that supports erasing, or None."""
        if descriptor is None or not os.isatty(descriptor) or os.environ.get("TERM", "dumb") == "dumb":
            return None
        return cls(descriptor, describe)

    @contextmanager
    def aside(self, text: bytes) -> Iterator[None]:
        """Removes the line before `text` is written to the same terminal."""
        with self._lock:
            self._erase()
            self._quiet = self._quiet or _MOVES.search(text) is not None
            yield
            if text:
                self._free = text.endswith(b"\n")

    def draw(self, seen: CaptureTail, seconds: float) -> None:
        """Shows the progress so far. Does nothing while the program's output waits for the terminal."""
        if seconds < self._due or not self._lock.acquire(blocking=False):
            return
        try:
            if self._free and not self._quiet and self._takes_text() and self._in_foreground():
                self._due = seconds + _INTERVAL
                columns = os.get_terminal_size(self._descriptor).columns or 80
                line = f"gpulint: {self._describe(seen, seconds)}"[: columns - 1]
                self._drawn = True
                os.write(self._descriptor, _ERASE + line.encode("ascii", "replace"))
        except OSError:
            self._quiet = True  # the terminal has closed
        finally:
            self._lock.release()

    def close(self) -> None:
        """Removes the line for good."""
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
        """False while the user has suspended terminal output: a write would block."""
        return bool(select.select([], [self._descriptor], [], 0)[1])

    def _in_foreground(self) -> bool:
        """False for a background job, which must not write to the terminal."""
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:
            return True  # a terminal without job control
