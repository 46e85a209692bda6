"""The thread on which programs are analysed: the interpreter recurses over calls and expressions."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from gpulint.syntax.stack import ProcessSetting, on_stack

T = TypeVar("T")

STACK_BYTES = 512 * 1024 * 1024
"""Size of its stack. Only pages that are touched take memory."""

RECURSION_LIMIT = 60_000
"""Maximum number of Python frames on it."""

COLLECTOR = (10_000_000, 5, 50)
"""Garbage collector thresholds of a run."""

_THREAD = "gpulint"

_collector: ProcessSetting[tuple[int, int, int]] = ProcessSetting(
    gc.get_threshold, lambda each: gc.set_threshold(*each)
)


def collecting_seldom() -> AbstractContextManager[None]:
    """Suspend most garbage collections: each walks all syntax again, and frees next to nothing."""
    return _collector.changed(lambda present: COLLECTOR)


def on_deep_stack(work: Callable[[], T]) -> T:
    """The result of `work` on a thread with a large stack. Raises what `work` raises."""
    if threading.current_thread().name == _THREAD:
        return work()
    with collecting_seldom():
        return on_stack(work, STACK_BYTES, RECURSION_LIMIT, _THREAD)
