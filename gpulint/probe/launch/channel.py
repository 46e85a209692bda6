"""Replaces a program's standard output or error: with a terminal where ours is one, else with a pipe."""

from __future__ import annotations

import fcntl
import os
import select
import sys
import termios

_ROOM = 1 << 20
"""Bytes: Linux's default limit for unprivileged users."""


class Channel:
    """`inner` is the program's end, `outer` ours."""

    def __init__(self, name: str, target: int | None) -> None:
        """A channel of the same kind as `target`, the descriptor that its output goes to; None if that is not open."""
        self.name = name
        self.target = target
        self._screen = target if target is not None and os.isatty(target) else None
        self.outer, self.inner = os.pipe() if self._screen is None else os.openpty()
        self.is_roomy = self._screen is None and _enlarged(self.inner)
        """Whether it buffers what a program can write in a few hundredths of a second."""
        self._take_attributes()
        self.resize()

    @property
    def is_terminal(self) -> bool:
        return self._screen is not None

    def resize(self) -> None:
        """Copies our terminal's size to the program's."""
        if self._screen is None:
            return
        try:
            size = fcntl.ioctl(self._screen, termios.TIOCGWINSZ, bytes(8))
            fcntl.ioctl(self.outer, termios.TIOCSWINSZ, size)
        except OSError:
            pass  # our terminal has closed, or the program's

    def started(self) -> None:
        """Closes our copy of the program's end, so that the stream ends when the program closes its own."""
        os.close(self.inner)

    def _take_attributes(self) -> None:
        """Copies our terminal's attributes, without output processing: our terminal already translates newlines."""
        if self._screen is None:
            return
        try:
            attributes = termios.tcgetattr(self._screen)
            attributes[1] &= ~termios.OPOST
            attributes[3] &= ~termios.ECHO
            termios.tcsetattr(self.inner, termios.TCSANOW, attributes)
        except termios.error:
            pass  # keep the defaults of a new terminal


def _enlarged(pipe: int) -> bool:
    """Enlarges a pipe beyond the default 64 KiB. Returns whether the system did."""
    try:
        return fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _ROOM) >= _ROOM
    except (AttributeError, OSError):  # Linux only, up to a limit per user
        return False


def standard_output() -> int | None:
    """Descriptor 1, or None if the process was started without one: another file may have that number by now."""
    return 1 if sys.__stdout__ is not None else None


def standard_error() -> int | None:
    """Descriptor 2, or None if the process was started without one."""
    return 2 if sys.__stderr__ is not None else None


def are_one(first: int | None, second: int | None) -> bool:
    """Whether text written to either descriptor reaches the same place, in order."""
    try:
        return first is not None and second is not None and os.path.sameopenfile(first, second)
    except OSError:
        return False


def write_all(target: int, text: bytes) -> None:
    """Writes all of a text to a descriptor, however long it takes. Raises OSError if the reader has closed it."""
    rest = memoryview(text)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:  # another process that shares the descriptor made it non-blocking
            select.select([], [target], [])
