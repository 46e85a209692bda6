"""`path:row:column: CODE message`, a line each."""

from __future__ import annotations

from gpulint.linting.engine import CheckResult
from gpulint.output.summary import footer
from gpulint.output.view import View, printable


def render(result: CheckResult, view: View) -> str:
    """One line for each finding, then the footer."""
    lines = [
        f"{printable(one.span.path)}:{one.span.row}:{one.span.column}: {one.code}{' [*]' if view.can_fix(one) else ''} "
        f"{printable(one.message)}"
        for one in result.findings
    ]
    return "\n".join([*lines, footer(result, view)]) + "\n"
