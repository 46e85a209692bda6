"""`path:row:column: CODE message`, a line each."""

from __future__ import annotations

from gpulint.linting.engine import CheckResult
from gpulint.output.summary import footer
from gpulint.output.view import View, place, printable


def render(result: CheckResult, view: View) -> str:
    """One line for each finding, then the footer."""
    lines = [f"{place(one.span)}: {one.code} {printable(one.message)}" for one in result.findings]
    return "\n".join([*lines, footer(result)]) + "\n"
