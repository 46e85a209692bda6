"""The input of every output format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gpulint.linting.finding import Finding, Severity
from gpulint.linting.result import CheckResult
from gpulint.linting.rule import Rule
from gpulint.output import formats
from gpulint.output.escapes import encodable, printable
from gpulint.output.style import Style
from gpulint.places import Span
from gpulint.rewriting.fix import is_wanted


class Line(Protocol):
    """The text of a row (from 1) of a file or of a notebook's cell, "" if there is none."""

    def __call__(self, path: str, row: int, cell: int | None = None, /) -> str: ...


def _as_it_is(span: Span) -> Span:
    return span


@dataclass(frozen=True, slots=True)
class View:
    """How to show a result. `rules` gives the enabled ones; `status` is the exit status of the run.

    `in_file` converts a span in a notebook's cell to rows of the file, for tools that do not know cells. `unsafe_fixes`
    says whether unsafe fixes are wanted, `fixed` how many findings were fixed, None without `--fix`. With `fix_only` no
    other findings are reported, with `quiet` nothing but findings. `isolated`: the project's configuration and
    pins were ignored.
    """

    style: Style
    line: Line
    rules: Callable[[], Sequence[type[Rule]]] = tuple
    status: int = 0
    in_file: Callable[[Span], Span] = _as_it_is
    unsafe_fixes: bool = False
    fixed: int | None = None
    fix_only: bool = False
    quiet: bool = False
    isolated: bool = False

    def can_fix(self, finding: Finding) -> bool:
        """Whether `--fix` would fix a finding."""
        return is_wanted(finding.fix, self.unsafe_fixes)


def render(name: str, result: CheckResult, view: View) -> str:
    """The result in the format `name`, as text that can be encoded. Raises KeyError for an unknown format."""
    text: str = formats.module_of(name).render(result, view)
    return encodable(text)


def place(span: Span) -> str:
    """`path:row:column`, in a notebook `path:cell N:row:column`."""
    return f"{printable(span.path)}:{position(span)}"


def position(span: Span) -> str:
    """`row:column`, in a notebook `cell N:row:column` with cells counted from 1, as ruff does."""
    cell = f"cell {span.cell + 1}:" if span.cell is not None else ""
    return f"{cell}{span.row}:{span.column}"


def counts(result: CheckResult) -> tuple[int, int, int]:
    """(errors, warnings, advice) of a result."""
    numbers = [sum(one.severity is severity for one in result.findings) for severity in Severity]
    return numbers[0], numbers[1], numbers[2]
