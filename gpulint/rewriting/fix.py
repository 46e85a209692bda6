"""Fixes: edits of one file, and who decides whether to apply them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpulint.places import Span


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
