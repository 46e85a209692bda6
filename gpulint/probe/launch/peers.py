"""What a program that is launched as one of several has to do with the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

Forced = Literal["timeout", "hang", "peer", "interrupt"]
"""Why a program is ended by us; "peer": another worker has failed."""


class Ends(NamedTuple):
    """Descriptors of a program's standard input (None: ours), and of where its output and errors are passed on to
    (None: nowhere)."""

    input: int | None
    output: int | None
    errors: int | None


class Peers(Protocol):
    """The other workers, as one of them sees them."""

    @property
    def ends(self) -> Ends:
        """The worker's own."""

    def started(self, send: Callable[[int], None]) -> None:
        """The worker runs; `send` sends a signal to it."""

    def demand(self) -> Forced | None:
        """Why it must be ended, None as long as it need not."""

    def hang(self, now: float, seen: tuple[int, ...], spent: float, *, blocked: bool) -> bool:
        """Whether all of them hang, this one with what was seen of it (`HangWatch.look`)."""
