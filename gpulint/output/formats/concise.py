"""`path:row:column: severity[CODE] message`, a line each."""

from __future__ import annotations

from gpulint.linting.finding import Finding
from gpulint.linting.result import CheckResult
from gpulint.output.escapes import first_on_line, printable
from gpulint.output.severity import head
from gpulint.output.summary import footer
from gpulint.output.view import View, position


def render(result: CheckResult, view: View) -> str:
    """One line for each finding, then the footer."""
    return "".join(f"{_line(one, view)}\n" for one in result.findings) + footer(result, view, is_short=True)


def _line(finding: Finding, view: View) -> str:
    span = finding.span
    path = view.style.paint(first_on_line(span.path), "1")
    return f"{path}:{position(span)}: {head(finding, view)[0]} {printable(finding.message)}"
