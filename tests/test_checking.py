"""A test that expects no findings fails where the analysis does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpulint.linting.result import CheckResult
from gpulint.plugin import Plan, Report, Rule, Severity
from tests import checking
from tests.checking import codes_in, codes_in_project, codes_of

PROGRAM = "import tensorflow as tf\n\nx = tf.zeros(4)\n"


class Raises(Rule):
    """Raises."""

    code, name, severity, why, instead = "TST001", "raises", Severity.WARNING, "none", "none"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        raise ZeroDivisionError("of the rule")


def test_a_rule_that_raises_fails_an_expectation_of_no_findings(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="ZeroDivisionError: of the rule"):
        assert codes_in(PROGRAM, tmp_path, (Raises,)) == set()
    assert codes_in(PROGRAM, tmp_path) == set()


def test_so_it_does_in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "PACK", (Raises,))
    with pytest.raises(AssertionError, match="ZeroDivisionError: of the rule"):
        assert codes_in_project(tmp_path, train=PROGRAM) == set()


def test_the_traceback_of_an_internal_error_is_shown() -> None:
    with pytest.raises(AssertionError, match="Traceback of the analysis"):
        codes_of(CheckResult(errors=[("a.py: internal error", "Traceback of the analysis")]))


@pytest.mark.parametrize(
    "codes",
    [lambda directory: codes_in("x = (\n", directory), lambda directory: codes_in_project(directory, train="x = (\n")],
)
def test_so_does_a_program_that_does_not_parse(codes: Callable[[Path], set[str]], tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="GPU001"):
        codes(tmp_path)
