"""Findings: what is wrong at a place in a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from gpulint.confidence import Confidence
from gpulint.places import Span
from gpulint.rewriting.fix import Fix


class Severity(str, Enum):
    """Severity by consequence: a crash or wrong training, a wasted GPU, or advice."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that explains a finding: where the strategy was created, which call built the model."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where the program wastes, breaks or misuses the GPU.

    Each on one line: `message` is the problem here, `why` its consequence, `instead` the code to write, `cost` the
    measured cost ("" if unknown). `context` is the dotted name of the enclosing function or class, "" at module level.
    """

    code: str
    name: str
    severity: Severity
    span: Span
    message: str
    why: str = ""
    instead: str = ""
    confidence: Confidence = Confidence.HIGH
    related: tuple[Related, ...] = field(default=())
    context: str = ""
    fingerprint: str = ""
    """Identifies the finding while lines move; unique within a run."""
    noqa_row: int = 0
    """Row on which a trailing suppression comment silences it."""
    fix: Fix | None = None
    """Edits of its file after which it is no longer found."""
    cost: str = ""
    no_fix: str = ""
    """Why the fix of its rule cannot be written here; "" if it can, or if the run needs no edits."""


class SuppressedBy(str, Enum):
    """Reason why a finding is suppressed: a comment for gpulint, or one that explains the code to its readers."""

    DIRECTIVE = "directive"
    EXPLANATION = "explanation"


class Silenced(NamedTuple):
    """A finding that a comment suppresses, and the reason in that comment ("" if there is none)."""

    finding: Finding
    reason: str
    by: SuppressedBy = SuppressedBy.DIRECTIVE
