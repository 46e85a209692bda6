"""The environment of a program that is launched as one of several workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

StopReason = Literal["timeout", "hang", "peer", "interrupt"]
"""Why we stop a program; "peer": another worker has failed."""


class Ends(NamedTuple):
    """Descriptors of a program's standard input (None: ours), and of the targets of its output and errors (None:
    discarded)."""

    input: int | None
    output: int | None
    errors: int | None


class Peers(Protocol):
    """The other workers, as seen by one of them."""

    @property
    def ends(self) -> Ends:
        """This worker's descriptors."""

    def started(self, send: Callable[[int], None]) -> None:
        """The worker has started; `send` sends it a signal."""

    def stop_reason(self) -> StopReason | None:
        """Why it must be stopped, or None."""

    def hang(self, now: float, seen: tuple[int, ...], spent: float, *, blocked: bool) -> bool:
        """Whether all workers hang, given this one's `HangWatch.look` arguments."""
