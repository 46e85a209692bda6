"""What a fix is: some edits of one file, and how far they can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from gpulint.places import Span

if TYPE_CHECKING:
    from gpulint.rewriting.draft import Draft

P = ParamSpec("P")


class Applicability(str, Enum):
    """Who decides: nobody (the program means the same), its author, or the author by hand."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """`content` in place of what is at `span`. Its line ends are line feeds whatever those of the file."""

    span: Span
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits of one file that take a finding away; `message` says in one line what changes.

    A run that nobody asked for edits computes none: then `edits` is empty.
    Of the fixes of a file with the same `group`, which is not "", only one is applied at a time: the next one is
    written for the text that the first has made.
    """

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]
    group: str = ""


def is_wanted(fix: Fix | None, unsafe: bool) -> bool:
    """Whether a fix is one to apply."""
    wanted = (Applicability.SAFE, Applicability.UNSAFE) if unsafe else (Applicability.SAFE,)
    return fix is not None and fix.applicability in wanted


class Refused(Exception):
    """A fix that cannot be written for this file as it is: a comment would be lost, two statements share a row, …"""


@dataclass(frozen=True, slots=True)
class Offer:
    """A fix that is not written yet: `write(draft, *arguments)` gives its edits, or raises Refused.

    It is written only where its finding is shown. `arguments` are sites and other plain data, no events or values.
    """

    applicability: Applicability
    message: str
    write: Callable[..., list[Edit]]
    arguments: tuple[Any, ...] = ()
    group: str = field(default="", kw_only=True)

    @property
    def unwritten(self) -> Fix | None:
        """The fix without its edits."""
        return Fix(self.applicability, self.message, (), self.group)

    def one_at_a_time(self, group: str) -> Offer:
        """It, applied in another round than others of the group: they would change the same rows, or those beside."""
        return replace(self, group=group)


def safe(
    message: str, write: Callable[Concatenate[Draft, P], list[Edit]], *arguments: P.args, **nothing: P.kwargs
) -> Offer:
    """A fix after which the program means the same."""
    return Offer(Applicability.SAFE, message, write, arguments)


def unsafe(
    message: str, write: Callable[Concatenate[Draft, P], list[Edit]], *arguments: P.args, **nothing: P.kwargs
) -> Offer:
    """A fix that the author must agree to; the message says what else changes."""
    return Offer(Applicability.UNSAFE, message, write, arguments)
