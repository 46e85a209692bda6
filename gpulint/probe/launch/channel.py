"""What takes the place of a program's standard output or error: a terminal where ours is one, else a pipe."""

from __future__ import annotations

import fcntl
import os
import select
import sys
import termios

_ROOM = 1 << 20
"""Bytes: what Linux allows everybody, if nobody has set another limit."""


class Channel:
    """`inner` is the program's end, `outer` ours."""

    def __init__(self, name: str, target: int | None) -> None:
        """Something like `target`, the descriptor that what comes out is for, None where it is not open."""
        self.name = name
        self.target = target
        self._screen = target if target is not None and os.isatty(target) else None
        self.outer, self.inner = os.pipe() if self._screen is None else os.openpty()
        self.is_roomy = self._screen is None and _enlarged(self.inner)
        """Whether it takes all that a program can write in some hundredths of a second."""
        self._take_attributes()
        self.resize()

    @property
    def is_terminal(self) -> bool:
        return self._screen is not None

    def resize(self) -> None:
        """Gives the program's terminal the size that ours has."""
        if self._screen is None:
            return
        try:
            size = fcntl.ioctl(self._screen, termios.TIOCGWINSZ, bytes(8))
            fcntl.ioctl(self.outer, termios.TIOCSWINSZ, size)
        except OSError:
            pass  # ours is gone, or the program's

    def started(self) -> None:
        """The program has its end now: ours of it goes, so that the last one of the program's ends the stream."""
        os.close(self.inner)

    def _take_attributes(self) -> None:
        """The program's terminal is like ours but leaves the bytes alone: ours makes of a newline what it makes."""
        if self._screen is None:
            return
        try:
            attributes = termios.tcgetattr(self._screen)
            attributes[1] &= ~termios.OPOST
            attributes[3] &= ~termios.ECHO
            termios.tcsetattr(self.inner, termios.TCSANOW, attributes)
        except termios.error:
            pass  # it keeps what a new terminal has


def _enlarged(pipe: int) -> bool:
    """Gives a pipe more room than the 64 KiB that it has; whether the system does."""
    try:
        return fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _ROOM) >= _ROOM
    except (AttributeError, OSError):  # only Linux can, up to a limit for each user
        return False


def standard_output() -> int | None:
    """Descriptor 1, None where the process was started without one: another file may have that number by now."""
    return 1 if sys.__stdout__ is not None else None


def standard_error() -> int | None:
    """Descriptor 2, None where the process was started without one."""
    return 2 if sys.__stderr__ is not None else None


def are_one(first: int | None, second: int | None) -> bool:
    """Whether what is written to either of two descriptors comes to the same place, in order."""
    try:
        return first is not None and second is not None and os.path.sameopenfile(first, second)
    except OSError:
        return False


def write_all(target: int, text: bytes) -> None:
    """Writes a text to a descriptor, however long that takes. Raises OSError where nobody takes it."""
    rest = memoryview(text)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:  # somebody who shares the descriptor has made it so
            select.select([], [target], [])
