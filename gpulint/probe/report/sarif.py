"""Violations with a line, as SARIF 2.1.0."""

from __future__ import annotations

from typing import Any

from gpulint.output import sarif
from gpulint.probe.expectations.expectation import Expectation, Status
from gpulint.probe.report import RunReport, row_in_file

_LEVELS = {Status.FAIL: "error", Status.WARN: "warning"}


def render(report: RunReport, color: bool = False) -> str:
    """One run. Paths below the working directory are relative to it."""
    broken = [one for one in report.expectations if one.status in _LEVELS and one.where is not None]
    rules = sorted({_rule(one) for one in broken})
    properties = {"simulated": report.capture.simulated} if report.capture.simulated else None
    results = [_result(one, rules) for one in broken]
    return sarif.log([{"id": rule} for rule in rules], results, properties=properties)


def _rule(one: Expectation) -> str:
    return one.code or one.id


def _result(one: Expectation, rules: list[str]) -> dict[str, Any]:
    assert one.where is not None
    message = f"{one.subject}: {one.observed}"
    if one.fix:
        message += f". {one.fix[0].upper()}{one.fix[1:]}."
    return {
        "ruleId": _rule(one),
        "ruleIndex": rules.index(_rule(one)),
        "level": _LEVELS[one.status],
        "message": {"text": message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": sarif.artifact(one.where.path),
                    "region": {"startLine": row_in_file(one.where)},
                }
            }
        ],
        "properties": {"evidence": list(one.evidence), "expected": one.expected},
    }
