"""What a program trains after the call of `fit` that is running."""

from __future__ import annotations

import linecache
import sys
import textwrap
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from gpulint.estimate.agent.fits import Later, later

MODEL = "program.py"


def found(program: str) -> Later:
    """What follows the first call of `fit`."""
    text = textwrap.dedent(program).lstrip()
    linecache.cache[MODEL] = len(text), None, text.splitlines(keepends=True), MODEL
    answers = []

    def fit(*arguments: Any, **keywords: Any) -> None:
        frame: FrameType = sys._getframe(1)
        answers.append(later(frame, lambda path: path != MODEL))

    def build(*arguments: Any) -> Any:
        return SimpleNamespace(fit=fit, train_function=None)

    scaler = SimpleNamespace(fit=lambda *data: None)
    try:
        exec(compile(text, MODEL, "exec"), {"build": build, "scaler": scaler, "x": 0})
    finally:
        del linecache.cache[MODEL]
    return answers[0]


@pytest.mark.parametrize(
    ("program", "loop"),
    [
        ("for width in (1, 2):\n    model = build(width)\n    model.fit(x)", 1),
        ("model = build()\nfor epoch in range(2):\n    model.fit(x, epochs=1)", None),
        ("def train(model):\n    model.fit(x)\nfor one in (1, 2):\n    train(build(one))", 3),
        (
            "def train(model):\n    for epoch in range(2):\n        model.fit(x)\n[train(build(one)) for one in 'ab']",
            4,
        ),
        ("for one in (1, 2):\n    build(one).fit(x)", 1),
        ("for one in range(2):\n    pass\nbuild().fit(x)", None),
        ("for one in range(2):\n    def train():\n        build().fit(x)\n    pass\ntrain()", None),
    ],
)
def test_a_loop_may_train_a_model_in_each_iteration(program: str, loop: int | None) -> None:
    assert found(program).loop == (None if loop is None else (MODEL, loop))


def test_calls_of_keras_follow() -> None:
    program = """
    model = build()
    scaler.fit(x)
    model.fit(x,
              epochs=1)
    scaler.fit(x)
    model.fit(x)
    if x:
        other.fit(x, epochs=3)
        unknown.fit(x)
    """
    assert found(program).calls == ((MODEL, 6), (MODEL, 8))


def test_code_that_cannot_be_read_tells_nothing() -> None:
    assert later(None, lambda path: False) == Later(None, ())
