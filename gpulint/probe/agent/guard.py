"""Keeping the agent's own faults out of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Fault = Callable[[str, BaseException], None]
"""Is told of what went wrong, and in which part of the agent."""


def guarded(where: str, fault: Fault, note: Callable[..., Any]) -> Callable[..., Any]:
    """`note`, whose exceptions are told of instead of raised; it gives None then. SystemExit goes on its way: it is how
    the agent ends a program."""

    def call(*arguments: Any) -> Any:
        try:
            return note(*arguments)
        except Exception as error:
            fault(where, error)
            return None

    return call
