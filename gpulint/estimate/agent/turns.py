"""Which thread of the program looks for the training step."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Turns:
    """One thread at a time has the turn. Another thread that is about to train waits for the turn, since nothing may be
    trained before the program is stopped; whatever else it does goes on, as the thread with the turn may need it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    def begin(self, trains: Callable[[], bool]) -> bool:
        """Take the turn. False if this thread has it already, or another one has it and this thread does not train.

        `trains` tells whether it does; it is only called while another thread has the turn.
        """
        if self._owner == threading.get_ident():
            return False
        if not self._lock.acquire(blocking=False):
            if _is_of_tensorflow(threading.current_thread()) or not trains():
                return False
            self._lock.acquire()
        self._owner = threading.get_ident()
        return True

    def end(self) -> None:
        """Pass the turn on."""
        self._owner = None
        self._lock.release()


def _is_of_tensorflow(thread: threading.Thread) -> bool:
    """Whether TensorFlow started a thread, from Python or below it. The thread that traces waits for those: replicas
    of a strategy, Python functions of a dataset."""
    return isinstance(thread, threading._DummyThread) or type(thread).__module__.startswith("tensorflow.")
