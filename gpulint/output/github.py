"""GitHub workflow commands, which show findings beside the changed lines of a pull request."""

from __future__ import annotations

from gpulint.linting.engine import CheckResult
from gpulint.linting.finding import Finding, Severity
from gpulint.output.view import View

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(result: CheckResult, view: View) -> str:
    """One command for each finding. GitHub ignores columns of an annotation of several lines."""
    return "".join(f"{_command(one)}\n" for one in result.findings)


def _command(finding: Finding) -> str:
    span = finding.span
    place = f"file={_property(span.path)},line={span.row},endLine={span.end_row}"
    if span.row == span.end_row:
        place += f",col={span.column},endColumn={span.end_column}"
    title = _property(f"gpulint ({finding.code})")
    text = f"{finding.span.path}:{span.row}:{span.column}: {finding.code} {finding.message}"
    if finding.instead:
        text += f"\n{finding.why}\nhelp: {finding.instead}"
    if (fix := finding.fix) is not None:
        text += f"\nfix ({fix.applicability.value}): {fix.message}"
    return f"::{_COMMANDS[finding.severity]} title={title},{place}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
