"""Checks that repeat an advice are not listed."""

from __future__ import annotations

import pytest

from gpulint.probe.advice.advice import Advice
from gpulint.probe.advice.coverage import is_covered
from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation, Level, Status

HERE, THERE = Where("/p/a.py", 3), Where("/p/a.py", 9)


def advice(cause: str, code: str | None = None) -> Advice:
    return Advice(cause, code, HERE, "text", "Evidence.", "Fix.", 1.0, 2.0)


def check(id: str, status: Status, where: Where, code: str = "") -> Expectation:
    return Expectation(id, status, Level.WARN, "subject", "expected", "observed", code, where)


@pytest.mark.parametrize(
    ("one", "about", "covered"),
    [
        (check("prediction", Status.FAIL, HERE, "GPU404"), advice("input-bound", "GPU404"), True),
        (check("prediction", Status.FAIL, THERE, "GPU404"), advice("input-bound", "GPU404"), False),
        (check("prediction", Status.WARN, THERE, "GPU402"), advice("input-bound", "GPU404"), True),
        (check("input-wait", Status.WARN, THERE), advice("input-bound"), True),
        (check("out-of-memory", Status.FAIL, HERE), advice("out-of-memory"), True),
        (check("input-wait", Status.WARN, THERE), advice("host-reads"), False),
        (check("mem-leak", Status.WARN, HERE), advice("launch-bound"), False),
    ],
)
def test_a_check_is_covered_by_advice_about_the_same(one: Expectation, about: Advice, covered: bool) -> None:
    assert is_covered(one, [about]) is covered
    assert not is_covered(one, [])
