"""The objects of `json`, one a line."""

from __future__ import annotations

from gpulint.linting.result import CheckResult
from gpulint.output.escapes import json_text
from gpulint.output.record import record
from gpulint.output.view import View

CARRIES_EDITS = True


def render(result: CheckResult, view: View) -> str:
    """One line for each finding."""
    return "".join(f"{json_text(record(one), indent=None)}\n" for one in result.findings)
