"""Whole numbers, by their symbols."""

from __future__ import annotations

from gpulint.analysis.domain.path_conditions import EVERYWHERE
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.truth import truth
from gpulint.analysis.domain.values.base import Constant, Unknown, symbol_of


def test_a_number_that_doubles_many_times_is_whole_at_once() -> None:
    number = Symbol(("index", "loop"))
    for _ in range(60):
        number = Symbol(("binary", "+", number, number))
    ((_, holds),) = truth(Unknown(("binary", "%", number, symbol_of(Constant(1)))), EVERYWHERE)
    assert holds is False
