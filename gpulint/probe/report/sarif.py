"""Violations and advice with a line, as SARIF 2.1.0."""

from __future__ import annotations

from typing import Any

from gpulint.output import sarif
from gpulint.probe.advice.advice import Advice
from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation, Status
from gpulint.probe.report import RunReport, row_in_file

_LEVELS = {Status.FAIL: "error", Status.WARN: "warning"}


def render(report: RunReport, color: bool = False) -> str:
    """One run. Paths below the working directory are relative to it. Advice whose rule has a violation on the same
    line is a property of that."""
    broken = [one for one in report.expectations if one.status in _LEVELS and one.where is not None]
    advice: dict[tuple[str, Where | None], tuple[int, Advice]]
    advice = {(one.code or one.cause, one.where): (rank, one) for rank, one in enumerate(report.advice, 1) if one.where}
    rules = sorted({_rule(one) for one in broken} | {rule for rule, _ in advice})
    properties = {"simulated": report.capture.simulated} if report.capture.simulated else None
    results = [_result(one, rules, advice.pop((_rule(one), one.where), None)) for one in broken]
    results += [_advised(rank, one, rules) for rank, one in advice.values()]
    return sarif.log([{"id": rule} for rule in rules], results, properties=properties)


def _rule(one: Expectation) -> str:
    return one.code or one.id


def _result(one: Expectation, rules: list[str], advice: tuple[int, Advice] | None) -> dict[str, Any]:
    assert one.where is not None
    message = f"{one.subject}: {one.observed}"
    if one.fix:
        message += f". {one.fix[0].upper()}{one.fix[1:]}."
    properties: dict[str, Any] = {"evidence": list(one.evidence), "expected": one.expected}
    if advice is not None:
        properties |= _gain(*advice)
    return _entry(_rule(one), rules, _LEVELS[one.status], message, one.where, properties)


def _advised(rank: int, one: Advice, rules: list[str]) -> dict[str, Any]:
    assert one.where is not None
    message = f"{one.text}. {one.evidence} {one.fix}"
    return _entry(one.code or one.cause, rules, "note", message, one.where, _gain(rank, one))


def _gain(rank: int, one: Advice) -> dict[str, Any]:
    return {"rank": rank, "gain": one.gained}


def _entry(
    rule: str, rules: list[str], level: str, message: str, where: Where, properties: dict[str, Any]
) -> dict[str, Any]:
    return {
        "ruleId": rule,
        "ruleIndex": rules.index(rule),
        "level": level,
        "message": sarif.message(message),
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": sarif.artifact(where.path),
                    "region": {"startLine": row_in_file(where)},
                }
            }
        ],
        "properties": properties,
    }
