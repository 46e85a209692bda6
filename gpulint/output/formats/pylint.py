"""`path:row: [CODE] message`, as pylint's parseable output."""

from __future__ import annotations

from gpulint.linting.result import CheckResult
from gpulint.output.escapes import first_on_line, printable
from gpulint.output.view import View


def render(result: CheckResult, view: View) -> str:
    """One line for each finding; the name of the rule follows its code, as pylint writes it."""
    return "".join(
        f"{first_on_line(one.span.path)}:{view.in_file(one.span).row}: "
        f"[{one.code}({one.name}), {printable(one.context)}] {printable(one.message)}\n"
        for one in result.findings
    )
