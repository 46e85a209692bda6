"""Writing down what was seen before the program leaves by `os._exit`, which lets nothing else run."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import NoReturn

from gpulint.probe.agent.threads import OWN

_PATIENCE = 2.0
"""Seconds that the writing gets."""


def watch_leaving(write: Callable[[], None]) -> None:
    """Have `write` called before this process leaves; its forks leave as ever."""
    leave, own = os._exit, os.getpid()

    @functools.wraps(leave)
    def leave_written(status: int) -> NoReturn:
        if os.getpid() == own:
            _within(_PATIENCE, write)
        leave(status)

    os._exit = leave_written


def _within(seconds: float, write: Callable[[], None]) -> None:
    """In a thread of its own: whoever leaves may have interrupted one that holds a lock which the writing needs."""
    writing = threading.Thread(target=write, name=OWN, daemon=True)
    try:
        writing.start()
    except RuntimeError:
        return  # the interpreter is about to end
    writing.join(seconds)
