"""GitHub workflow commands, which show findings beside the changed lines of a pull request."""

from __future__ import annotations

from gpulint.linting.finding import Finding, Severity
from gpulint.linting.result import CheckResult
from gpulint.output.github import annotation
from gpulint.output.view import View, position

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(result: CheckResult, view: View) -> str:
    """One command for each finding. GitHub ignores columns of an annotation of several lines."""
    return "".join(f"{_command(one, view)}\n" for one in result.findings)


def _command(finding: Finding, view: View) -> str:
    span = view.in_file(finding.span)
    rows = f"line={span.row},endLine={span.end_row}"
    if span.row == span.end_row:
        rows += f",col={span.column},endColumn={span.end_column}"
    text = f"{span.path}:{position(finding.span)}: {finding.code} {finding.message}"
    if finding.instead:
        text += f"\n{finding.why}\nhelp: {finding.instead}"
    if (fix := finding.fix) is not None:
        text += f"\nfix ({fix.applicability.value}): {fix.message}"
    return annotation(_COMMANDS[finding.severity], f"gpulint ({finding.code})", span.path, rows, text)
