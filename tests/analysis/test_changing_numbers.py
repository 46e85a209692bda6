"""Numbers that change with the iterations of a loop, by their symbols."""

from __future__ import annotations

import pytest

from gpulint.analysis.domain.changing_numbers import differ_in_numbers, is_changing
from gpulint.analysis.domain.symbolic import Symbol, symbol

ONE, TWO = (symbol(("constant", "int", number)) for number in (1, 2))
INDEX = symbol(("index", symbol(("name", "data"))))
UNKNOWN = symbol(("name", "x"))


def binary(sign: str, left: Symbol, right: Symbol) -> Symbol:
    return symbol(("binary", sign, left, right))


@pytest.mark.parametrize(
    ("first", "differ"),
    [
        (INDEX, True),
        (binary("*", INDEX, TWO), True),
        (symbol(("unary", "-", INDEX)), True),
        (UNKNOWN, False),
        (binary("*", UNKNOWN, TWO), False),
    ],
)
def test_a_python_number_and_its_successor_differ_in_numbers(first: Symbol, differ: bool) -> None:
    """An unknown value may be a tensor, whose sum with a number is a tensor, too."""
    assert differ_in_numbers(first, binary("+", first, ONE)) is differ
    assert not differ_in_numbers(first, first)


def test_what_is_converted_to_a_number_need_not_be_one() -> None:
    first, second = (symbol(("int", one)) for one in (UNKNOWN, binary("+", UNKNOWN, ONE)))
    assert differ_in_numbers(first, second)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        (binary("+", INDEX, ONE), True),
        (binary("%", INDEX, symbol(("constant", "int", 16))), False),
        (binary("%", INDEX, symbol(("constant", "int", 17))), True),
        (binary("+", INDEX, symbol(("tensor", "x"))), False),
        (UNKNOWN, False),
    ],
)
def test_numbers_computed_from_an_index_change(name: Symbol, changes: bool) -> None:
    assert is_changing(name) is changes
