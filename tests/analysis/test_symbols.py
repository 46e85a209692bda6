"""Names of values that are not known."""

from __future__ import annotations

from gpulint.analysis.domain.symbolic import MAX_WORDS, symbol


def test_the_words_that_are_kept_are_the_same_in_each_run() -> None:
    """Those of a set come in another order with each hash seed."""
    inner = symbol(tuple(f"word{number}" for number in range(2 * MAX_WORDS)))
    outer = symbol(("call", inner, "last"))
    expected = ("call", *(f"word{number}" for number in range(MAX_WORDS - 1)))
    assert outer.first_words == expected
    assert outer.words == set(expected)
