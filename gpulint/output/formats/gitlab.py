"""GitLab's Code Quality report."""

from __future__ import annotations

from typing import Any

from gpulint.linting.finding import Finding, Severity
from gpulint.linting.result import CheckResult
from gpulint.output.escapes import json_text
from gpulint.output.view import View

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def render(result: CheckResult, view: View) -> str:
    """One array. GitLab recognises old findings by their fingerprint, and needs paths relative to the repository."""
    return json_text([_issue(one, view) for one in result.findings]) + "\n"


def _issue(finding: Finding, view: View) -> dict[str, Any]:
    span = view.in_file(finding.span)
    return {
        "description": f"{finding.code} {finding.message}",
        "check_name": finding.name,
        "fingerprint": finding.fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": span.path, "lines": {"begin": span.row, "end": span.end_row}},
    }
