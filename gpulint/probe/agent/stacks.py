"""The stacks of all threads."""

from __future__ import annotations

import gc
import os
import sys
import threading
from types import FrameType

_LOCK = threading.Lock()
"""A fork waits until it is released: the new process would have no garbage collection."""
if hasattr(os, "register_at_fork"):  # not on Windows, where this module is only imported
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)

COLLECTS_ANYWHERE = sys.version_info < (3, 12)
"""Whether Python collects garbage wherever it allocates, and not only between two instructions."""


def current_frames() -> dict[int, FrameType]:
    """The innermost frame of each thread, without a garbage collection meanwhile.

    `sys._current_frames` holds a lock of the interpreter while it creates frames, which may start a collection. If a
    finalizer then lets another thread run that needs this lock, because it starts a thread or asks for the frames, too,
    the whole program is blocked for good (python/cpython#106883).
    """
    if not COLLECTS_ANYWHERE:
        return sys._current_frames()
    with _LOCK:
        is_enabled = gc.isenabled()
        gc.disable()
        try:
            return sys._current_frames()
        finally:
            if is_enabled:
                gc.enable()
