"""The order of findings in text output."""

from __future__ import annotations

from gpulint.linting.finding import Finding, Severity
from gpulint.output.order import by_cost
from gpulint.places import Span


def found(code: str, severity: Severity, row: int) -> Finding:
    return Finding(code, "name", severity, Span("train.py", row, 1, row, 2), "message")


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
