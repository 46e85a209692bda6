"""`path:row:column: CODE message`, a line each."""

from __future__ import annotations

from gpulint.linting.engine import CheckResult
from gpulint.linting.finding import Finding
from gpulint.output.escapes import first_on_line, printable
from gpulint.output.summary import footer
from gpulint.output.view import View, position


def render(result: CheckResult, view: View) -> str:
    """One line for each finding, then the footer."""
    return "\n".join([*(_line(one) for one in result.findings), footer(result)]) + "\n"


def _line(finding: Finding) -> str:
    span = finding.span
    return f"{first_on_line(span.path)}:{position(span)}: {finding.code} {printable(finding.message)}"
