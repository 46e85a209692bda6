"""Conditions: which of them can hold together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.analysis.paths import Condition, Literal, Path, compatible, length_of
from gpulint.analysis.symbols import symbol

N = symbol(("name", "n"))


def path(*literals: tuple[str, object, bool]) -> Path:
    return frozenset(Literal(Condition(sign, N, operand), holds) for sign, operand, holds in literals)


@pytest.mark.parametrize(
    ("one", "other", "possible"),
    [
        ([(">", 1, True)], [(">", 1, False)], False),
        ([(">", 1, True)], [(">", 0, True)], True),
        ([("==", 1, True)], [("==", 2, True)], False),
        ([("==", "a", True)], [("==", "b", True)], False),
        ([("==", 1, False)], [("==", 2, False)], True),
        ([(">", 0, True), ("==", 1, False)], [(">", 1, False)], False),
        ([("truth", None, True)], [("is", None, True)], False),
    ],
)
def test_conditions_on_one_thing_can_exclude_each_other(
    one: list[tuple[str, object, bool]], other: list[tuple[str, object, bool]], possible: bool
) -> None:
    assert compatible(path(*one), path(*other)) is possible
    assert compatible(path(*other), path(*one)) is possible


def test_an_empty_list_has_no_second_element() -> None:
    empty = frozenset({Literal(Condition("truth", N), False)})
    several = frozenset({Literal(Condition(">", length_of(N), 1), True)})
    assert not compatible(empty, several)


def test_a_compound_condition_that_fails_excludes_all_its_parts_together() -> None:
    both = path((">", 1, True), ("==", 5, False))
    neither = frozenset({Literal(Condition("any", "", frozenset({both})), False)})
    assert not compatible(neither, both)
    assert compatible(neither, path((">", 1, True)))


LITERALS = st.tuples(st.sampled_from(["==", ">", ">="]), st.integers(-3, 3), st.booleans())


@given(st.lists(LITERALS, max_size=4), st.lists(LITERALS, max_size=4))
def test_paths_that_a_number_satisfies_are_never_called_contradictory(
    one: list[tuple[str, int, bool]], other: list[tuple[str, int, bool]]
) -> None:
    def satisfies(number: int, literal: tuple[str, int, bool]) -> bool:
        sign, operand, holds = literal
        return {"==": number == operand, ">": number > operand, ">=": number >= operand}[sign] is holds

    if any(all(satisfies(number, literal) for literal in (*one, *other)) for number in range(-6, 7)):
        assert compatible(path(*one), path(*other))
