"""The answer of a query that ran in a child process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Ended = Literal["answered", "failed", "crashed", "timeout", "not asked"]


@dataclass(frozen=True, slots=True)
class Answer:
    """How a query ended, and its results so far.

    `step` is the last one started. `error` is the exception, the signal's name, or the exit status; `log` is standard
    error. `values` has the last value of each name, `rows` all of them.
    """

    ended: Ended
    step: str = ""
    error: str = ""
    traceback: str = ""
    log: str = ""
    seconds: float = 0.0
    values: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def all(self, name: str) -> tuple[Any, ...]:
        """Every value written under a name, in order."""
        return self.rows.get(name, ())
