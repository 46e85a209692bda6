"""What every output format is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpulint.linting.engine import CheckResult
from gpulint.linting.finding import Finding, Severity
from gpulint.rewriting.fix import is_wanted

FORMATS = ("text", "concise", "json", "github")
"""Names of the output formats; each is the module of that name in this package."""


@dataclass(frozen=True, slots=True)
class View:
    """How to show a result. `line` gives the text of a row (from 1) of a file, "" where there is none.

    `unsafe_fixes` says whether unsafe fixes are wanted; `fixed` how many findings were fixed, None where nothing
    was to be fixed.
    """

    color: bool
    line: Callable[[str, int], str]
    unsafe_fixes: bool = False
    fixed: int | None = None

    def can_fix(self, finding: Finding) -> bool:
        """Whether `--fix` would fix a finding."""
        return is_wanted(finding.fix, self.unsafe_fixes)


def render(name: str, result: CheckResult, view: View) -> str:
    """The result in the format `name`; raises KeyError for a format that does not exist."""
    from importlib import import_module

    if name not in FORMATS:
        raise KeyError(name)
    module = import_module(f"gpulint.output.{name}")
    text: str = module.render(result, view)
    return text


def printable(text: str) -> str:
    """Text without control characters, which a terminal or a log would obey."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def url(finding: Finding) -> str:
    """The page of a finding's rule."""
    return f"https://gpulint.readthedocs.io/rules/{finding.name}/"


def counts(result: CheckResult) -> tuple[int, int, int]:
    """(errors, warnings, advice) of a result."""
    numbers = [sum(one.severity is severity for one in result.findings) for severity in Severity]
    return numbers[0], numbers[1], numbers[2]
