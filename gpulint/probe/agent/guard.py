"""Keeps the agent's own failures out of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Fault = Callable[[str, BaseException], None]
"""Receives a failure, and the part of the agent where it occurred."""


def guarded(where: str, fault: Fault, note: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps `note` to report exceptions and return None. SystemExit passes: the agent uses it to end a program."""

    def call(*arguments: Any) -> Any:
        try:
            return note(*arguments)
        except Exception as error:
            fault(where, error)
            return None

    return call
