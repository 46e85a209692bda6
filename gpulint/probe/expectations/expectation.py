"""Expected behaviour of a program next to what was observed."""

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
    """The outcome of an expectation. Nothing passes without evidence: it is inconclusive, or skipped if it does not
    apply to this machine or program."""

    FAIL = "fail"
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    SKIP = "skip"
    PASS = "pass"


class Level(str, Enum):
    """Whether a violation fails the run or is only reported."""

    ERROR = "error"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expectation, with what was observed.

    `id` names the check, `code` the rule about the same problem, "" for none. `where` is the line that implies it.
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


SIMULATED = "the GPUs are simulated: run it on real ones to know"
"""Why an expectation is undecided on simulated GPUs."""

Source = Literal["program", "settings", "--expect"]
"""Where an expectation is stated. Of two about the same subject, the earlier source in this list wins."""


@dataclass(frozen=True, slots=True)
class UserExpectation:
    """An expectation that a user wrote as an expression (`gpulint.probe.expectations.expression`)."""

    text: str
    source: Source
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """The input of the checks: findings, the capture, and what the user requested.

    `findings` are those of `gpulint check` on the program's files, with absolute paths. `requested` are expectations
    stated outside the program; checks read those of the settings from here, not from `settings`.
    """

    capture: Capture
    findings: Sequence[Finding] = ()
    requested: Sequence[UserExpectation] = ()
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
    """An expectation that the run violated."""
    status = Status.FAIL if level is Level.ERROR else Status.WARN
    return Expectation(id, status, level, subject, expected, observed, code, where, evidence, fix)


def held(id: str, subject: str, expected: str, observed: str, *, where: Where | None = None) -> Expectation:
    """An expectation that passed, with what was observed."""
    return Expectation(id, Status.PASS, Level.ERROR, subject, expected, observed, where=where)


def undecided(id: str, status: Status, subject: str, expected: str, reason: str, code: str = "") -> Expectation:
    """An expectation that is skipped or inconclusive, with the reason."""
    return Expectation(id, status, Level.WARN, subject, expected, reason, code)
