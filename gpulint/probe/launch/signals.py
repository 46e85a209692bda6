"""Forwards signals that reach us while a program runs."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable
from types import FrameType, TracebackType
from typing import Any

_KEYS = (signal.SIGINT, signal.SIGQUIT)
"""The terminal sends these to the whole job, including the program."""

_SENT = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
"""Schedulers and people send these to the one process whose pid they know."""

_TAKEN = (*_KEYS, *_SENT, signal.SIGWINCH)

_ENDING = (*_KEYS, signal.SIGTERM, signal.SIGHUP)
"""Requests to end, unless ignored from the start, as under nohup."""


class Relay:
    """A context manager: signals sent to us act on the program as they would without the probe, and not on us.

    Python handles signals in its main thread only; in other threads this does nothing.
    """

    def __init__(self, send: Callable[[int], None], resized: Callable[[], None]) -> None:
        """`send` sends a signal to the program; `resized` is called when our terminal has changed its size."""
        self.requests = 0
        """Number of requests to end."""
        self._send = send
        self._resized = resized
        self._before: dict[int, Any] = {}
        self._runs = False
        self._early = False

    def __enter__(self) -> Relay:
        self._take(number for number in _TAKEN if signal.getsignal(number) is not signal.SIG_IGN)
        return self

    def started(self) -> None:
        """The program has started, and ignores the signals that we ignored, which it may want to handle. A request
        to end that came earlier is forwarded now."""
        self._take(number for number in _TAKEN if number not in self._before)
        self._runs = True
        if self._early:
            self._send(signal.SIGTERM)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _take(self, numbers: Iterable[signal.Signals]) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in numbers:
                self._before[number] = signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGWINCH:
            self._resized()
            self._send(number)  # the first SIGWINCH arrived before its terminal had the new size
            return
        wanted = number in _ENDING and self._before.get(number) is not signal.SIG_IGN
        self.requests += wanted
        if not self._runs:
            self._early |= wanted
        elif number not in _KEYS or not _is_foreground():
            self._send(number)


def _is_foreground() -> bool:
    """Whether keys at our terminal signal our job, so that the program has received this signal as well."""
    try:
        terminal = os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
