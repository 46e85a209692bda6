"""Symbols: the structural names of unknown values."""

from __future__ import annotations

import pytest

from gpulint.analysis.domain.symbolic import MAX_WORDS, Symbol, symbol


def test_the_words_that_are_kept_are_the_same_in_each_run() -> None:
    """The order of a set differs between hash seeds."""
    inner = symbol(tuple(f"word{number}" for number in range(2 * MAX_WORDS)))
    outer = symbol(("call", inner, "last"))
    expected = ("call", *(f"word{number}" for number in range(MAX_WORDS - 1)))
    assert outer.first_words == expected
    assert outer.words == set(expected)


@pytest.mark.parametrize("one", [-1, -1.0])
def test_numbers_with_the_same_hash_are_different_symbols(one: float) -> None:
    other = type(one)(-2)
    assert hash(one) == hash(other)
    assert symbol(("item", symbol(("name", "x")), one)) != symbol(("item", symbol(("name", "x")), other))


def test_the_origin_of_each_part_of_a_chain_is_found_once() -> None:
    name = Symbol(("external", "numpy.random"))
    for number in range(20_000):
        name = Symbol((("attribute", "call", "item")[number % 3], name, "x"))
        assert name.origin == "numpy.random" and name.package == "numpy"
    assert Symbol(("attribute", ("item", name, 1), "x")).origin == "numpy.random"
    for none in (("attribute", None, "x"), ("item", Symbol(("unknown", 1)), 0), ()):
        assert Symbol(none).origin == ""
