"""Conditions: which of them can hold together."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.analysis.domain.path_conditions import (
    Condition,
    Literal,
    Path,
    compatible,
    forget,
    is_complete,
    length_of,
    literal_of,
    one_of,
)
from gpulint.analysis.domain.symbolic import Symbol, distance, symbol

N = symbol(("name", "n"))
TRAIN, EVAL = symbol(("external", "modes.Mode.TRAIN")), symbol(("external", "modes.Mode.EVAL"))


def path(*literals: tuple[str, object, bool]) -> Path:
    return frozenset(literal_of(Condition(sign, N, operand), holds) for sign, operand, holds in literals)


@pytest.mark.parametrize(
    ("one", "other", "possible"),
    [
        ([(">", 1, True)], [(">", 1, False)], False),
        ([(">", 1, True)], [(">", 0, True)], True),
        ([("==", 1, True)], [("==", 2, True)], False),
        ([("==", "a", True)], [("==", "b", True)], False),
        ([("==", 1, False)], [("==", 2, False)], True),
        ([("==", TRAIN, True)], [("==", EVAL, True)], False),
        ([("==", symbol(("len", "x")), True)], [("==", symbol(("len", "y")), True)], True),
        ([("==", symbol(("len", "x")), True)], [("==", 2, True)], True),
        ([(">", 0, True), ("==", 1, False)], [(">", 1, False)], False),
        ([("truth", None, True)], [("is", None, True)], False),
    ],
)
def test_conditions_on_one_thing_can_exclude_each_other(
    one: list[tuple[str, object, bool]], other: list[tuple[str, object, bool]], possible: bool
) -> None:
    assert compatible(path(*one), path(*other)) is possible
    assert compatible(path(*other), path(*one)) is possible


def test_forgotten_conditions_are_freed() -> None:
    part = literal_of(Condition("truth", symbol(("name", "of nobody else"))), True)
    whole = literal_of(Condition("any", "", frozenset({frozenset({part})})), False)
    assert literal_of(whole.condition, False) is whole
    forget()
    assert literal_of(whole.condition, False) is not whole


def test_what_one_program_said_of_a_condition_is_not_known_in_the_next() -> None:
    subject = symbol(("name", "asked in both"))
    first = literal_of(Condition("truth", subject), True)
    other = literal_of(Condition("==", subject, 2), True)
    assert first.group.literals == [first, first.negation, other, other.negation]
    forget()
    again = literal_of(first.condition, True)
    assert again.group.literals == [again, again.negation]


def test_a_program_of_another_thread_takes_nothing_away() -> None:
    condition = Condition("truth", symbol(("name", "asked in one thread")))
    taken = frozenset({literal_of(condition, True)})
    other = threading.Thread(target=forget)
    other.start()
    other.join()
    assert not compatible(taken, frozenset({literal_of(condition, False)}))


def test_an_empty_list_has_no_second_element() -> None:
    empty = frozenset({literal_of(Condition("truth", N), False)})
    several = frozenset({literal_of(Condition(">", length_of(N), 1), True)})
    assert not compatible(empty, several)


def test_a_compound_condition_that_fails_excludes_all_its_parts_together() -> None:
    both = path((">", 1, True), ("==", 5, False))
    neither = frozenset({literal_of(Condition("any", "", frozenset({both})), False)})
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


SWITCHES = ("a", "b", "c", "d")


def of_switch(name: str, holds: bool) -> Literal:
    return literal_of(Condition("truth", symbol(("parameter", name))), holds)


SIMPLE = st.dictionaries(st.sampled_from(SWITCHES), st.booleans(), max_size=4).map(
    lambda said: frozenset(of_switch(name, holds) for name, holds in said.items())
)


@st.composite
def ways(draw: st.DrawFn) -> Path:
    """Some switches, and perhaps the condition that one of several combinations of them holds, or does not."""
    path = draw(SIMPLE)
    if draw(st.booleans()):
        parts = draw(st.frozensets(SIMPLE.filter(bool), min_size=1, max_size=3))
        path |= {literal_of(Condition("any", "", parts), draw(st.booleans()))}
    return path


def is_taken(path: Path, on: dict[str, bool]) -> bool:
    def holds(literal: Literal) -> bool:
        if literal.condition.operator == "any":
            assert isinstance(literal.condition.operand, frozenset)
            return any(is_taken(part, on) for part in literal.condition.operand) is literal.holds
        assert isinstance(literal.condition.subject, Symbol)
        return on[literal.condition.subject.parts[1]] is literal.holds

    return all(holds(literal) for literal in path)


def test_a_path_that_contradicts_itself_is_not_taken() -> None:
    left = literal_of(Condition("truth", symbol(("parameter", "a"))), False)
    taken = literal_of(Condition("any", "", frozenset({frozenset({left})})), False)
    assert not is_complete([frozenset({taken}), frozenset({taken, left})])


@given(st.lists(ways(), max_size=6))
def test_paths_are_complete_if_one_is_taken_in_each_case(paths: list[Path]) -> None:
    cases = [
        {name: bool(number >> place & 1) for place, name in enumerate(SWITCHES)} for number in range(2 ** len(SWITCHES))
    ]
    assert is_complete(paths) == all(any(is_taken(path, case) for path in paths) for case in cases)


NUMBERS = st.recursive(
    st.integers(-5, 5).map(lambda value: symbol(("constant", "int", value)))
    | st.sampled_from("xy").map(lambda name: symbol(("name", name))),
    lambda inner: st.tuples(st.just("binary"), st.sampled_from("+-*"), inner, inner).map(symbol),
    max_leaves=6,
)


def value_of(name: Symbol, x: int, y: int) -> int:
    head, *rest = name.parts
    if head != "binary":
        return int(rest[1]) if head == "constant" else {"x": x, "y": y}[rest[0]]
    left, right = value_of(rest[1], x, y), value_of(rest[2], x, y)
    return {"+": left + right, "-": left - right, "*": left * right}[rest[0]]


@given(NUMBERS, NUMBERS, st.integers(-9, 9), st.integers(-9, 9))
def test_the_distance_of_two_numbers_does_not_depend_on_what_is_unknown(a: Symbol, b: Symbol, x: int, y: int) -> None:
    found = distance(a, b)
    assert found is None or value_of(b, x, y) - value_of(a, x, y) == found


def test_the_distance_of_the_bounds_of_a_batch() -> None:
    turn, size = symbol(("index", "range")), symbol(("constant", "int", 32))
    start = symbol(("binary", "*", turn, size))
    after = symbol(("binary", "*", symbol(("binary", "+", turn, symbol(("constant", "int", 1)))), size))
    assert distance(start, after) == 32
    assert distance(start, symbol(("binary", "+", start, symbol(("name", "size"))))) is None


A, B, C = (literal_of(Condition("truth", symbol(("name", name))), True) for name in "abc")
EITHER = one_of([frozenset({A}), frozenset({A.negation, B})])
NESTED = one_of([frozenset({EITHER, C}), frozenset({EITHER.negation})])


@pytest.mark.parametrize(
    ("one", "other", "possible"),
    [
        ({EITHER}, {A}, True),
        ({EITHER}, {A.negation}, True),
        ({EITHER}, {B.negation}, True),
        ({EITHER}, {A.negation, B.negation}, False),
        ({EITHER, A.negation}, {B.negation}, False),
        ({EITHER, A}, {B.negation}, True),
        ({NESTED}, {A, C}, True),
        ({NESTED}, {EITHER, C.negation}, False),
    ],
)
def test_one_of_several_paths_must_be_left(one: set[Literal], other: set[Literal], possible: bool) -> None:
    assert compatible(frozenset(one), frozenset(other)) is possible
    assert compatible(frozenset(other), frozenset(one)) is possible


def test_one_of_several_paths_is_left_where_a_number_is_another() -> None:
    small = one_of([path(("==", 1, True)), path(("==", 2, True))])
    assert compatible(frozenset({small}), path(("==", 2, True)))
    assert compatible(frozenset({small}), path(("==", 1, False)))
    assert not compatible(frozenset({small}), path(("==", 3, True)))
    assert not compatible(frozenset({small}), path((">", 2, True)))


def test_paths_are_complete_where_one_of_them_is_known_to_be_taken() -> None:
    ways = [path(("==", "a", True)), path(("==", "b", True))]
    known = frozenset({one_of(ways)})
    assert not is_complete(ways)
    assert is_complete(ways, known)
    assert not is_complete(ways[:1], known)
    assert not is_complete([ways[0], ways[1] | path((">", 1, True))], known)


class Colliding(frozenset[Path]):
    """Conditions that all have the same hash."""

    def __hash__(self) -> int:
        return 7


def test_conditions_with_the_same_hash_are_distinguished() -> None:
    literals = [literal_of(Condition("truth", symbol(("name", name))), True) for name in "abcd"]
    first, second = (Colliding([frozenset({one}), frozenset({other})]) for one, other in (literals[:2], literals[2:]))
    kept = literal_of(Condition("any", "", first), True), literal_of(Condition("any", "", second), True)
    assert kept[0] is not kept[1]
    assert literal_of(Condition("any", "", first), True) is kept[0]
    assert literal_of(Condition("any", "", second), True) is kept[1]
