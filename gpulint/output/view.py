"""What every output format is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gpulint.linting.engine import CheckResult
from gpulint.linting.finding import Finding, Severity
from gpulint.places import Span

FORMATS = ("text", "concise", "json", "github")
"""Names of the output formats; each is the module of that name in this package."""


class Line(Protocol):
    """The text of a row (from 1) of a file, or of a notebook's cell; "" where there is none."""

    def __call__(self, path: str, row: int, cell: int | None = None) -> str: ...


def _as_it_is(span: Span) -> Span:
    return span


@dataclass(frozen=True, slots=True)
class View:
    """How to show a result. `in_file` gives a span in a notebook's cell at its rows of the file, which is what tools
    want that know no cells."""

    color: bool
    line: Line
    in_file: Callable[[Span], Span] = _as_it_is


def render(name: str, result: CheckResult, view: View) -> str:
    """The result in the format `name`; raises KeyError for a format that does not exist."""
    from importlib import import_module

    if name not in FORMATS:
        raise KeyError(name)
    module = import_module(f"gpulint.output.{name}")
    text: str = module.render(result, view)
    return text


def place(span: Span) -> str:
    """`path:row:column`, in a notebook `path:cell N:row:column` with cells counted from 1, as ruff does."""
    cell = f":cell {span.cell + 1}" if span.cell is not None else ""
    return f"{printable(span.path)}{cell}:{span.row}:{span.column}"


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
