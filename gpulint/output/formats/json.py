"""One array of findings, a superset of ruff's."""

from __future__ import annotations

from gpulint.linting.result import CheckResult
from gpulint.output.escapes import json_text
from gpulint.output.record import record
from gpulint.output.view import View

CARRIES_EDITS = True


def render(result: CheckResult, view: View) -> str:
    """One array, sorted by path, row, column and code."""
    return json_text([record(one) for one in result.findings]) + "\n"
