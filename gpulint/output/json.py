"""An array of findings, a superset of ruff's."""

from __future__ import annotations

import json
from typing import Any

from gpulint.linting.engine import CheckResult
from gpulint.linting.finding import Finding
from gpulint.output.view import View, url
from gpulint.places import Span
from gpulint.rewriting.fix import Fix


def render(result: CheckResult, view: View) -> str:
    """One array, sorted by path, row, column and code. Rows and columns start at 1; columns are code points."""
    return json.dumps([_finding(one) for one in result.findings], indent=2, ensure_ascii=False) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "filename": finding.span.path,
        **_places(finding.span),
        "cell": None,
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "url": url(finding),
        "fix": _fix(finding.fix) if finding.fix is not None else None,
        "noqa_row": finding.noqa_row,
        "related": [
            {"filename": one.span.path, **_places(one.span), "message": one.message} for one in finding.related
        ],
        "fingerprint": finding.fingerprint,
        "evidence": "static",
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "message": fix.message,
        "edits": [{"content": edit.content, **_places(edit.span)} for edit in fix.edits],
    }


def _places(span: Span) -> dict[str, dict[str, int]]:
    return {
        "location": {"row": span.row, "column": span.column},
        "end_location": {"row": span.end_row, "column": span.end_column},
    }
