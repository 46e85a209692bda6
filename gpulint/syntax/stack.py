"""Running code that recurses deeper than an ordinary thread's stack allows."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class ProcessSetting(Generic[T]):
    """A process-wide setting that threads change temporarily: it is restored when the last of overlapping users is
    done."""

    def __init__(self, read: Callable[[], T], write: Callable[[T], object]) -> None:
        self._read = read
        self._write = write
        self._before = self._written = read()
        self._users = 0
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    @contextmanager
    def changed(self, change: Callable[[T], T]) -> Iterator[None]:
        """Set the value to `change` of the present one within the context."""
        with self._lock:
            present = self._read()
            if not self._users:
                self._before = present
            self._users += 1
            self._written = change(present)
            self._write(self._written)
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users and self._read() == self._written:  # nobody else has changed it
                    self._write(self._before)

    def _renew(self) -> None:
        """Reset in a forked process, which lacks the threads that changed the value or held the lock."""
        self._lock = threading.Lock()
        if self._users:
            self._users = 0
            self._write(self._before)


FRAME_SLOTS = 1 << 20
"""Slots of the bottom frame on such a stack: CPython allocates a chunk of twice that size, and the frames above use the
other half."""


def _on_one_chunk(work: Callable[[], None]) -> None:
    """Call `work` on top of one large chunk of memory for frames.

    CPython (3.11 and later) allocates Python frames in chunks of 16 KiB, and unmaps the last one when the stack shrinks
    below it: code at that boundary maps and unmaps memory with each call. A chunk is as large as its first frame needs
    (`push_chunk` in Python/pystate.c). Only pages that are touched take memory.
    """
    work()


_on_one_chunk.__code__ = _on_one_chunk.__code__.replace(co_stacksize=FRAME_SLOTS)

LARGEST_STACK = 255 * 1024 * 1024 if sys.platform == "win32" else sys.maxsize
"""Maximum size of a thread's stack in bytes: Windows refuses 256 MiB and more."""

_recursion = ProcessSetting(sys.getrecursionlimit, sys.setrecursionlimit)
_stack = ProcessSetting(threading.stack_size, threading.stack_size)


def on_stack(work: Callable[[], T], size: int, recursion: int, name: str | None = None) -> T:
    """The result of `work` on a new thread with at least `size` bytes of stack and `recursion` Python frames.

    Where the system allows less, there are proportionally fewer frames. Raises what `work` raises. Thread-safe.
    """
    allowed = min(size, LARGEST_STACK)
    frames = recursion * allowed // size
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # re-raised on the caller's thread
            failure.append(error)

    with _recursion.changed(lambda limit: max(limit, frames)):
        with _stack.changed(lambda present: max(present, allowed)):
            thread = threading.Thread(target=_on_one_chunk, args=(run,), name=name)
            thread.start()
        thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
