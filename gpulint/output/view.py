"""What every output format is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpulint.linting.engine import CheckResult
from gpulint.linting.finding import Finding, Severity
from gpulint.linting.rule import Rule
from gpulint.output import formats
from gpulint.output.escapes import encodable
from gpulint.places import Span


@dataclass(frozen=True, slots=True)
class View:
    """How to show a result. `line` gives the text of a row (from 1) of a file, "" where there is none.

    `rules` are those that were on; `status` is the exit status that the run is going to have.
    """

    color: bool
    line: Callable[[str, int], str]
    rules: Sequence[type[Rule]] = ()
    status: int = 0


def render(name: str, result: CheckResult, view: View) -> str:
    """The result in the format `name`, as text that can be encoded. Raises KeyError where there is no such format."""
    text: str = formats.module_of(name).render(result, view)
    return encodable(text)


def url(name: str) -> str:
    """The page of a rule."""
    return f"https://gpulint.readthedocs.io/rules/{name}/"


def fix_of(finding: Finding) -> Any:
    """The fix that a finding carries (`applicability`, `message`, `edits` of `span` and `content`), or None."""
    return getattr(finding, "fix", None)


def cell_of(span: Span) -> int | None:
    """The cell of a notebook that a place is in, counted from 0; None in other files."""
    cell: int | None = getattr(span, "cell", None)
    return cell


def counts(result: CheckResult) -> tuple[int, int, int]:
    """(errors, warnings, advice) of a result."""
    numbers = [sum(one.severity is severity for one in result.findings) for severity in Severity]
    return numbers[0], numbers[1], numbers[2]
