"""Reviewdog's diagnostics."""

from __future__ import annotations

from typing import Any

from gpulint.linting.finding import Finding
from gpulint.linting.result import CheckResult
from gpulint.output.escapes import json_text
from gpulint.output.site import SITE, url
from gpulint.output.view import View
from gpulint.places import Span

CARRIES_EDITS = True


def render(result: CheckResult, view: View) -> str:
    """One object. Reviewdog counts columns in bytes of UTF-8, from 1."""
    document = {
        "source": {"name": "gpulint", **({"url": SITE} if SITE else {})},
        "diagnostics": [_diagnostic(one, view) for one in result.findings],
    }
    return json_text(document) + "\n"


def _diagnostic(finding: Finding, view: View) -> dict[str, Any]:
    diagnostic: dict[str, Any] = {
        "message": "\n".join(_lines(finding)),
        "location": {"path": finding.span.path, "range": _range(finding.span, view)},
        "severity": finding.severity.value.upper(),
        "code": {"value": finding.code},
    }
    if page := url(finding.code, finding.name):
        diagnostic["code"]["url"] = page
    if (fix := finding.fix) is not None and finding.span.cell is None:  # in a notebook text is escaped
        diagnostic["suggestions"] = [
            {"range": _range(edit.span, view), "text": edit.content}
            for edit in fix.edits
            if edit.span.path == finding.span.path
        ]
    return diagnostic


def _lines(finding: Finding) -> list[str]:
    why = [f"why: {finding.why}"] if finding.why else []
    return [finding.message, *why, *([f"help: {finding.instead}"] if finding.instead else [])]


def _range(span: Span, view: View) -> dict[str, dict[str, int]]:
    span = view.in_file(span)

    def position(row: int, column: int) -> dict[str, int]:
        before = view.line(span.path, row)[: column - 1]
        missing = column - 1 - len(before)
        return {"line": row, "column": len(before.encode("utf-8", "replace")) + missing + 1}

    return {"start": position(span.row, span.column), "end": position(span.end_row, span.end_column)}
