"""A training step is one pass of the training loop."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from gpulint.probe.agent.passes import Passes
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.states import States


class Trainer:
    """Functions that take gradients, and datasets."""

    def __init__(self) -> None:
        self.states = States()
        self.passes = Passes(self.states, Places())
        self.steps = 0

    def takes(self, function: str, device: str = "") -> None:
        self.steps += self.passes.begins_step(function, None, function, device)

    def d(self) -> None:
        self.takes("d")

    def g(self) -> None:
        self.takes("g")

    def dataset(self, elements: Iterable[Any]) -> Iterator[Any]:
        return _Dataset(elements, self.passes)


class _Dataset:
    def __init__(self, elements: Iterable[Any], passes: Passes) -> None:
        self._elements, self._passes = iter(elements), passes

    def __iter__(self) -> _Dataset:
        return self

    def __next__(self) -> Any:
        element = next(self._elements)
        self._passes.takes_element(sys._getframe(1))
        return element


def two_functions(one: Trainer) -> None:
    for _ in range(4):
        one.d()
        one.g()


def two_functions_of_a_method(one: Trainer) -> None:
    def step() -> None:
        one.d()
        if one.states is not None:
            one.g()

    for _ in range(4):
        step()


def rarely_a_generator(one: Trainer) -> None:
    for number in range(4):
        one.d()
        if number % 2:
            one.g()


def twice_in_a_pass(one: Trainer) -> None:
    for _ in range(4):
        one.d()
        one.d()
        one.g()


def updates_of_a_critic(one: Trainer) -> None:
    for number in one.dataset(range(5)):
        if not number:
            continue  # the loop is not yet known to be one
        for _ in range(3):
            one.d()
        one.g()


def elements_by_next(one: Trainer) -> None:
    elements = one.dataset(range(100))
    next(elements)
    for _ in range(4):
        real = next(elements)
        one.d()
        if real is not None:
            next(elements)
        one.g()


def functions_of_a_list(one: Trainer) -> None:
    for number in one.dataset(range(5)):
        for function in (one.d, one.g):
            if number:
                function()


@pytest.mark.parametrize(
    "train",
    [
        two_functions,
        two_functions_of_a_method,
        rarely_a_generator,
        twice_in_a_pass,
        updates_of_a_critic,
        elements_by_next,
        functions_of_a_list,
    ],
)
def test_what_one_pass_of_the_loop_trains_is_one_step(train: Callable[[Trainer], None]) -> None:
    one = Trainer()
    train(one)
    assert one.steps == 4
    assert sum(one.passes.take().values()) >= 2


def either(one: Trainer) -> None:
    for number in range(4):
        if number % 2:
            one.d()
        else:
            one.g()


def loops_in_a_row(one: Trainer) -> None:
    for _ in range(1):
        for _ in range(2):
            one.d()
        for _ in range(2):
            one.g()


def generator_after_its_critics(one: Trainer) -> None:
    for _ in range(2):
        for _ in range(2):
            one.d()
        one.g()


def unrolled(one: Trainer) -> None:
    one.d()
    one.d()
    one.d()
    one.d()


def one_element(one: Trainer) -> None:
    for _ in one.dataset([1]):
        for _ in range(4):
            one.d()


def after_a_loop(one: Trainer) -> None:
    for _ in range(2):
        for _ in one.dataset([1, 2, 3]):
            pass
        for _ in range(2):
            one.d()


def iterator_that_is_left(one: Trainer) -> None:
    elements = one.dataset([1, 2, 3])
    next(elements)
    next(elements)
    for _ in range(4):
        one.d()


@pytest.mark.parametrize("train", [either, loops_in_a_row, unrolled, one_element, after_a_loop, iterator_that_is_left])
def test_each_pass_is_a_step(train: Callable[[Trainer], None]) -> None:
    one = Trainer()
    train(one)
    assert one.steps == 4
    assert not one.passes.take()


def test_what_follows_the_loop_of_another_function_is_part_of_its_last_pass() -> None:
    one = Trainer()
    generator_after_its_critics(one)
    assert one.steps == 4
    assert sum(one.passes.take().values()) == 2


FIT = "def fit(step):\n    for _ in range(2):\n        step()\n"
"""A library's loop over batches."""


def fit(step: Callable[[], None]) -> None:
    names: dict[str, Any] = {}
    exec(compile(FIT, "<keras>", "exec"), names)
    names["fit"](step)


def test_each_batch_of_fit_is_a_step() -> None:
    """Also of a `fit` for each element of a dataset, and of two in a row."""
    one = Trainer()
    for _ in one.dataset(range(3)):
        fit(one.d)
        fit(one.d)
    assert one.steps == 12


def test_two_gradients_of_a_train_step_are_one_step() -> None:
    one = Trainer()

    def train_step() -> None:
        one.d()
        one.d()

    for _ in range(2):
        fit(train_step)
    assert one.steps == 4


def test_shares_on_several_devices_are_one_step() -> None:
    one = Trainer()
    for _ in range(4):
        for device in ("GPU:0", "GPU:1"):
            one.takes("train", device)
    assert one.steps == 4
