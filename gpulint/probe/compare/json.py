"""A comparison as one JSON object."""

from __future__ import annotations

import math
from typing import Any

from gpulint.output.escapes import json_text
from gpulint.probe.compare.comparison import Change, Comparison, Verdict
from gpulint.probe.compare.words import headline
from gpulint.probe.report import RunReport

VERSION = 1
"""Version of the format; increases when a field is removed or changes its meaning."""


def render(comparison: Comparison) -> str:
    """The object as text."""
    return json_text(content(comparison)) + "\n"


def content(comparison: Comparison) -> dict[str, Any]:
    """`changes`: measures of both runs, `growth` as a share (null if unknown or from 0), `verdict` beyond noise.
    `verdicts`: checks whose status changed. `differences`: why times are hard to compare."""
    return {
        "version": VERSION,
        "headline": headline(comparison),
        "before": _run(comparison.before),
        "after": _run(comparison.after),
        "differences": list(comparison.differences),
        "changes": [_change(one) for one in comparison.changes],
        "verdicts": [_verdict(one) for one in comparison.verdicts],
    }


def _run(report: RunReport) -> dict[str, Any]:
    capture = report.capture
    return {
        "command": capture.start.get("command"),
        "headline": report.headline,
        "steps": report.time.steps if report.time is not None else None,
        "causes": [one.cause for one in report.advice],
    }


def _change(one: Change) -> dict[str, Any]:
    growth = one.growth if one.growth is not None and math.isfinite(one.growth) else None
    return {
        "name": one.name,
        "unit": one.unit,
        "before": one.before,
        "after": one.after,
        "growth": growth,
        "noise": one.noise,
        "verdict": one.verdict,
    }


def _verdict(one: Verdict) -> dict[str, Any]:
    where = one.check.where
    return {
        "id": one.check.id,
        "code": one.check.code or None,
        "subject": one.check.subject,
        "filename": where.path if where is not None else None,
        "row": where.row if where is not None else None,
        "before": one.before.value if one.before is not None else None,
        "after": one.after.value if one.after is not None else None,
    }
