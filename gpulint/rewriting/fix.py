"""Fixes: edits of one file, and who decides whether to apply them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpulint.places import Span


class Applicability(str, Enum):
    """How a fix may be applied: automatically (the program means the same), when the user asks for it, or by hand."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace `span` by `content`, whose line ends are line feeds in any file."""

    span: Span
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits of one file that remove a finding; `message` says in one line what changes.

    `edits` is empty if the run needs none. Of the fixes of a file with the same `group` (unless "") only one is applied
    per pass: the next is computed for the changed text.
    """

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]
    group: str = ""


def is_wanted(fix: Fix | None, unsafe: bool) -> bool:
    """Whether to apply a fix."""
    wanted = (Applicability.SAFE, Applicability.UNSAFE) if unsafe else (Applicability.SAFE,)
    return fix is not None and fix.applicability in wanted


class Refused(Exception):
    """A fix cannot be written for this file: a comment would be lost, two statements share a row, …"""
