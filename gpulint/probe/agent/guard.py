"""Keeps the agent's own failures out of the program, and measures the time that the agent takes of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


class Guard:
    """Receives failures, with the part of the agent where they occurred."""

    def __init__(self, record: Callable[[str, BaseException], None]) -> None:
        self._record = record
        self.spent = 0.0
        """Seconds of the agent's hooks so far."""
        self.own: Callable[[], float] = lambda: self.spent
        """All that the agent has taken of the program's threads so far, which belongs to no step."""

    def __call__(self, where: str, error: BaseException) -> None:
        self._record(where, error)


def guarded(where: str, guard: Guard, note: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps `note` to report exceptions and return None. SystemExit passes: the agent uses it to end a program."""
    clock = time.perf_counter

    def call(*arguments: Any) -> Any:
        began = clock()
        try:
            return note(*arguments)
        except Exception as error:
            guard(where, error)
            return None
        finally:
            guard.spent += clock() - began

    return call
