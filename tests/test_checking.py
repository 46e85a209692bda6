"""A test that expects no findings fails where the analysis does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gpulint
from gpulint.api import Plan, Report, Rule, Severity
from gpulint.linting.engine import Checker
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


@pytest.mark.parametrize(
    "codes",
    [
        lambda directory: codes_in(PROGRAM, directory),
        lambda directory: codes_in_project(directory, train=PROGRAM),
        lambda directory: codes_of(gpulint.check_source(PROGRAM)),
    ],
)
def test_so_does_an_analysis_that_raises(
    codes: Callable[[Path], set[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> None:
        raise ZeroDivisionError("of the analysis")

    monkeypatch.setattr(Checker, "_check_program", fails)
    with pytest.raises(AssertionError, match="ZeroDivisionError: of the analysis"):
        assert codes(tmp_path) == set()


@pytest.mark.parametrize(
    "codes",
    [lambda directory: codes_in("x = (\n", directory), lambda directory: codes_in_project(directory, train="x = (\n")],
)
def test_so_does_a_program_that_does_not_parse(codes: Callable[[Path], set[str]], tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="GPU001"):
        codes(tmp_path)
