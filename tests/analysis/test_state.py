"""The value of a name after branches that each assign another one."""

from __future__ import annotations

import pytest

from gpulint.analysis.domain.path_conditions import Condition, Literal, Path, literal_of
from gpulint.analysis.domain.store import MAX_ALTERNATIVES, join
from gpulint.analysis.domain.symbolic import symbol
from gpulint.analysis.domain.values.base import Union, Unknown, Value
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.places import Site


def of_branches(values: list[Value]) -> object:
    def path(number: int) -> Path:
        return frozenset({literal_of(Condition("==", symbol(("name", "n")), number), True)})

    return join([(path(number), value) for number, value in enumerate(values)], ("joined",))


def tensor(number: int, **known: object) -> Tensor:
    made = Tensor(Site("a.py", number), dtype="float16")
    for name, value in known.items():
        setattr(made, name, value)
    return made


def test_few_tensors_stay_apart() -> None:
    assert isinstance(of_branches([tensor(1), tensor(2)]), Union)


def test_many_tensors_become_one_of_which_is_known_what_all_agree_on() -> None:
    many: list[Value] = [tensor(number, dtype="float32") for number in range(MAX_ALTERNATIVES)]
    one = of_branches([*many, tensor(99, dtype="float32", on_host=True, single=True)])
    assert isinstance(one, Tensor)
    assert (one.dtype, one.on_host, one.single) == ("float32", True, False)
    other = of_branches([*many, tensor(99)])
    assert isinstance(other, Tensor)
    assert other.dtype is None


def test_many_things_of_which_one_is_no_tensor_are_not_known() -> None:
    many: list[Value] = [tensor(number) for number in range(MAX_ALTERNATIVES)]
    assert type(of_branches([*many, Unknown(("other",))])) is Unknown


A, B = (literal_of(Condition("truth", symbol(("name", name))), True) for name in "ab")


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ({A}, {A.negation}, True),
        ({A, B}, {A, B.negation}, True),
        ({A}, {A, B}, True),
        ({A, B}, {A}, True),
        ({A}, {B}, False),
        ({A, B}, {A.negation, B.negation}, False),
        ({A, B}, {A.negation}, False),
    ],
)
def test_equal_values_are_merged_where_their_paths_together_are_one(
    one: set[Literal], other: set[Literal], is_one: bool
) -> None:
    value = tensor(1)
    joined = join([(frozenset(one), value), (frozenset(other), value)], ("joined",))
    assert (joined is value) is is_one
