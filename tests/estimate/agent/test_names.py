"""Which functions of a program may be training steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpulint.estimate.agent.names import mentions

TAPES = frozenset({"GradientTape"})


def GradientTape() -> None:
    """Stands for TensorFlow's."""


def direct() -> None:
    GradientTape()


def through_another() -> None:
    direct()


def through_a_lambda() -> Callable[[], None]:
    return lambda: GradientTape()


def recursive() -> None:
    recursive()


class Trainer:
    @property
    def broken(self) -> None:
        raise RuntimeError

    def learn(self) -> None:
        GradientTape()

    def train(self) -> None:
        self.broken  # noqa: B018
        self.learn()

    def step(self) -> Callable[[], None]:
        def run() -> None:
            self.learn()

        return run


def closed_over(function: Any) -> Callable[[], None]:
    return lambda: function()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (direct, True),
        (through_another, True),
        (through_a_lambda, True),
        (Trainer().learn, True),
        (Trainer().train, True),
        (Trainer().step(), True),
        (closed_over(direct), True),
        (closed_over(len), False),
        (recursive, False),
        (len, False),
    ],
)
def test_a_tape_is_found_in_a_function_and_those_it_refers_to(function: Any, expected: bool) -> None:
    assert mentions(function, TAPES) is expected
