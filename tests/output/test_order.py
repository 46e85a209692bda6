"""The order of findings in text output."""

from __future__ import annotations

from gpulint.linting.finding import Finding, Severity
from gpulint.output.order import by_cost
from gpulint.places import Span


def found(code: str, severity: Severity, row: int, cost: str = "") -> Finding:
    return Finding(code, "name", severity, Span("train.py", row, 1, row, 2), "message", cost=cost)


def test_errors_come_first_and_then_idle_gpus() -> None:
    findings = [
        found("GPU901", Severity.ERROR, 1),
        found("GPU501", Severity.WARNING, 2),
        found("GPU006", Severity.INFO, 3),
        found("GPU203", Severity.WARNING, 4),
        found("GPU201", Severity.ERROR, 5),
        found("GPU501", Severity.WARNING, 6),
        found("ACM001", Severity.WARNING, 7),
    ]
    assert [one.span.row for one in by_cost(findings)] == [5, 1, 4, 2, 6, 7, 3]


def test_within_a_family_the_largest_factor_comes_first() -> None:
    findings = [
        found("GPU510", Severity.WARNING, 1),
        found("GPU501", Severity.WARNING, 2, "up to 4× slower"),
        found("GPU508", Severity.WARNING, 3, "5 to 37× slower for small models"),
        found("GPU404", Severity.WARNING, 4, "input 2 to 7× slower"),
        found("GPU503", Severity.WARNING, 5, "about 50 ms per call"),
        found("GPU508", Severity.WARNING, 6, "5 to 37× slower for small models"),
    ]
    assert [one.span.row for one in by_cost(findings)] == [3, 6, 2, 1, 5, 4]
