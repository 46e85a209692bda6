"""A finding as the JSON object of all JSON formats and of editors."""

from __future__ import annotations

from typing import Any

from gpulint.linting.finding import Finding
from gpulint.output.site import url
from gpulint.places import Span
from gpulint.rewriting.fix import Fix


def record(finding: Finding) -> dict[str, Any]:
    """A superset of ruff's object. Rows and columns start at 1; columns are code points; ends are exclusive."""
    return {
        "filename": finding.span.path,
        **places(finding.span),
        "cell": finding.span.cell,
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "why": finding.why or None,
        "help": finding.instead or None,
        "cost": finding.cost or None,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "url": url(finding.code, finding.name),
        "fix": _fix(finding.fix) if finding.fix is not None else None,
        "no_fix": finding.no_fix or None,
        "noqa_row": finding.noqa_row,
        "related": [
            {"filename": one.span.path, **places(one.span), "cell": one.span.cell, "message": one.message}
            for one in finding.related
        ],
        "fingerprint": finding.fingerprint,
        "evidence": "static",
    }


def places(span: Span) -> dict[str, dict[str, int]]:
    """Start and end of a span."""
    return {
        "location": {"row": span.row, "column": span.column},
        "end_location": {"row": span.end_row, "column": span.end_column},
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "message": fix.message,
        "edits": [{"content": edit.content, **places(edit.span), "cell": edit.span.cell} for edit in fix.edits],
    }
