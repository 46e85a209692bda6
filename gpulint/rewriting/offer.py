"""Fixes that rules offer: how to write the edits once the finding is known to be shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from gpulint.rewriting.fix import Applicability, Edit, Fix

if TYPE_CHECKING:
    from gpulint.rewriting.draft import Draft

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Offer:
    """A fix whose edits are not written yet: `write(draft, *arguments)` returns them, or raises Refused.

    They are written only if the finding is shown. `arguments` are sites and other plain data, no events or values.
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
        """The offer as a member of a group of fixes that change the same or adjacent rows: one of them is applied per
        pass."""
        return replace(self, group=group)


def safe(
    message: str, write: Callable[Concatenate[Draft, P], list[Edit]], *arguments: P.args, **nothing: P.kwargs
) -> Offer:
    """A fix after which the program means the same."""
    return Offer(Applicability.SAFE, message, write, arguments)


def unsafe(
    message: str, write: Callable[Concatenate[Draft, P], list[Edit]], *arguments: P.args, **nothing: P.kwargs
) -> Offer:
    """A fix that the user must agree to; the message says what else changes."""
    return Offer(Applicability.UNSAFE, message, write, arguments)
