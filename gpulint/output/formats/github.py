"""GitHub workflow commands, which show findings beside the changed lines of a pull request."""

from __future__ import annotations

from gpulint.linting.finding import Finding, Severity
from gpulint.linting.result import CheckResult
from gpulint.output.escapes import printable_rows
from gpulint.output.view import View, position

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})
"""GitHub's own escapes: of messages, and of properties."""


def render(result: CheckResult, view: View) -> str:
    """One command for each finding. GitHub ignores columns of an annotation of several lines."""
    return "".join(f"{_command(one, view)}\n" for one in result.findings)


def _command(finding: Finding, view: View) -> str:
    span = view.in_file(finding.span)
    place = f"file={printable_rows(span.path).translate(_PROPERTY)},line={span.row},endLine={span.end_row}"
    if span.row == span.end_row:
        place += f",col={span.column},endColumn={span.end_column}"
    title = f"gpulint ({finding.code})".translate(_PROPERTY)
    text = f"{span.path}:{position(finding.span)}: {finding.code} {finding.message}"
    if finding.instead:
        text += f"\n{finding.why}\nhelp: {finding.instead}"
    if (fix := finding.fix) is not None:
        text += f"\nfix ({fix.applicability.value}): {fix.message}"
    return f"::{_COMMANDS[finding.severity]} title={title},{place}::{printable_rows(text).translate(_DATA)}"
