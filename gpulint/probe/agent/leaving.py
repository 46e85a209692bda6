"""Writes pending records before the program exits through `os._exit`, which skips all other handlers."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import NoReturn

from gpulint.probe.agent.threads import OWN

_PATIENCE = 2.0
"""Seconds for writing."""


def watch_leaving(write: Callable[[], None]) -> None:
    """Calls `write` before this process exits; its forks exit unchanged."""
    leave, own = os._exit, os.getpid()

    @functools.wraps(leave)
    def leave_written(status: int) -> NoReturn:
        if os.getpid() == own:
            _within(_PATIENCE, write)
        leave(status)

    os._exit = leave_written


def _within(seconds: float, write: Callable[[], None]) -> None:
    """Uses another thread: the exiting one may have interrupted code that holds a lock needed for writing."""
    writing = threading.Thread(target=write, name=OWN, daemon=True)
    try:
        writing.start()
    except RuntimeError:
        return  # the interpreter is shutting down
    writing.join(seconds)
