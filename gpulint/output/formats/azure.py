"""Logging commands of Azure Pipelines, which become issues of the build."""

from __future__ import annotations

from gpulint.linting.finding import Finding, Severity
from gpulint.linting.result import CheckResult
from gpulint.output.escapes import printable_rows
from gpulint.output.view import View

_TYPES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "warning"}

_ESCAPES = str.maketrans({"%": "%AZP25", "\r": "%0D", "\n": "%0A", ";": "%3B", "]": "%5D"})
"""Azure's own escapes, of properties and messages alike."""


def render(result: CheckResult, view: View) -> str:
    """One command for each finding."""
    return "".join(f"{_command(one, view)}\n" for one in result.findings)


def _command(finding: Finding, view: View) -> str:
    span = view.in_file(finding.span)
    properties = {
        "type": _TYPES[finding.severity],
        "sourcepath": span.path,
        "linenumber": str(span.row),
        "columnnumber": str(span.column),
        "code": finding.code,
    }
    listed = "".join(f"{name}={_escaped(value)};" for name, value in properties.items())
    return f"##vso[task.logissue {listed}]{_escaped(finding.message)}"


def _escaped(text: str) -> str:
    return printable_rows(text).translate(_ESCAPES)
