"""What a program is expected to do, and what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from gpulint.linting.finding import Finding
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.settings import Settings


class Status(str, Enum):
    """What the run says of an expectation. Without evidence nothing passes: it is inconclusive, or skipped where it
    does not apply to this machine or program."""

    FAIL = "fail"
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    SKIP = "skip"
    PASS = "pass"


class Level(str, Enum):
    """Whether a violation fails the run or is only told of."""

    ERROR = "error"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that was expected, beside what was observed.

    `id` names the check, `code` the rule that speaks of the same, "" for none. `where` is the line that implies it.
    """

    id: str
    status: Status
    level: Level
    subject: str
    expected: str
    observed: str
    code: str = ""
    where: Where | None = None
    evidence: tuple[str, ...] = ()
    fix: str = ""


Source = Literal["program", "settings", "--expect"]
"""Who states an expectation. Of two that speak of the same, the one of the earlier source counts."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An expectation that a user has written, as an expression (`gpulint.probe.expectations.expression`)."""

    text: str
    source: Source
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What the checks look at: what the source says, what the program did, and what the user wants.

    `findings` are those of `gpulint check` on the program's files, with absolute paths; `wanted` are the expectations
    that were written outside of the program, of which the settings' are not taken from `settings`.
    """

    capture: Capture
    findings: Sequence[Finding] = ()
    wanted: Sequence[Wanted] = ()
    settings: Settings = field(default_factory=Settings)


def violated(
    id: str,
    subject: str,
    expected: str,
    observed: str,
    *,
    code: str = "",
    where: Where | None = None,
    evidence: tuple[str, ...] = (),
    fix: str = "",
    level: Level = Level.ERROR,
) -> Expectation:
    """An expectation that the run broke."""
    status = Status.FAIL if level is Level.ERROR else Status.WARN
    return Expectation(id, status, level, subject, expected, observed, code, where, evidence, fix)


def held(id: str, subject: str, expected: str, observed: str, *, where: Where | None = None) -> Expectation:
    """An expectation that the run kept, with what was seen."""
    return Expectation(id, Status.PASS, Level.ERROR, subject, expected, observed, where=where)


def undecided(id: str, status: Status, subject: str, expected: str, reason: str, code: str = "") -> Expectation:
    """An expectation that is skipped or inconclusive, with the reason."""
    return Expectation(id, status, Level.WARN, subject, expected, reason, code)
