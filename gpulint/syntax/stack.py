"""Running work that recurses deeper than an ordinary thread's stack allows."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class ProcessSetting(Generic[T]):
    """A setting that belongs to the process: threads that need another value may overlap, and when the last of them
    is done it is as it was."""

    def __init__(self, read: Callable[[], T], write: Callable[[T], object]) -> None:
        self._read = read
        self._write = write
        self._before = read()
        self._users = 0
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    @contextmanager
    def changed(self, change: Callable[[T], T]) -> Iterator[None]:
        """Within it the setting is what `change` makes of the present value."""
        with self._lock:
            present = self._read()
            if not self._users:
                self._before = present
            self._users += 1
            self._write(change(present))
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._write(self._before)

    def _renew(self) -> None:
        """In a forked process the threads that changed it, or held the lock, are gone."""
        self._lock = threading.Lock()
        if self._users:
            self._users = 0
            self._write(self._before)


FRAME_SLOTS = 1 << 20
"""Slots of the frame below all others on such a stack: CPython takes a chunk twice that large for it, and what runs on
the other half asks for none."""


def _on_one_chunk(work: Callable[[], None]) -> None:
    """Call `work` where frames have a large chunk of memory to stand on.

    CPython (3.11 and later) keeps Python frames in chunks of 16 KiB, and gives the last one back to the system whenever
    the stack sinks below it: code that goes up and down there maps and unmaps memory with each call. A chunk is made as
    large as its first frame needs (`push_chunk` in Python/pystate.c). Only the pages that are touched take memory.
    """
    work()


_on_one_chunk.__code__ = _on_one_chunk.__code__.replace(co_stacksize=FRAME_SLOTS)

_recursion = ProcessSetting(sys.getrecursionlimit, sys.setrecursionlimit)
_stack = ProcessSetting(threading.stack_size, threading.stack_size)


def on_stack(work: Callable[[], T], size: int, recursion: int, name: str | None = None) -> T:
    """What `work` gives on a thread of its own with at least `size` bytes of stack and `recursion` Python frames.

    Raises what `work` raises. May be called by several threads at once.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # handed on to the caller's thread
            failure.append(error)

    with _recursion.changed(lambda limit: max(limit, recursion)):
        with _stack.changed(lambda present: max(present, size)):
            thread = threading.Thread(target=_on_one_chunk, args=(run,), name=name)
            thread.start()
        thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
