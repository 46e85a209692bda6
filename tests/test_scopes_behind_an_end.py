"""Scopes that a helper returns, and that only unreachable code enters."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

PROGRAM = """
import contextlib
import sys
import threading

import tensorflow as tf

ONLY_LIST, MODE, lock = True, "list", threading.Lock()


def scope_for(several):
    if several:
        return tf.distribute.MirroredStrategy().scope()
    return contextlib.nullcontext()


def unfinished():
    raise NotImplementedError("soon")


def run(several):
    scope = scope_for(several)
{early}
    {entered}
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))


run(len(sys.argv) > 1)
"""


@pytest.mark.parametrize(
    ("early", "entered", "expected"),
    [
        ("if ONLY_LIST:\n    return", "with scope:", set()),
        ("if MODE == 'train':\n    print(1)\nelif MODE == 'list':\n    return print(2)", "with scope:", set()),
        ("unfinished()", "with scope:", set()),
        ("raise NotImplementedError", "with scope:", set()),
        ("print(several)", "with scope:", set()),
        ("print(several)", "if several:", {"GPU203"}),
        ("print(several)", "with lock:", {"GPU203"}),
        ("print(several)", "with open('notes') as notes:", {"GPU203"}),
        ("if ONLY_LIST:\n    return", "with open('notes') as notes:", {"GPU203"}),
    ],
)
def test_a_with_that_no_run_comes_to(early: str, entered: str, expected: set[str], tmp_path: Path) -> None:
    text = PROGRAM.format(early=textwrap.indent(early, "    "), entered=entered)
    assert codes_in(text, tmp_path) & {"GPU203"} == expected


DEEP = """
import contextlib

import tensorflow as tf


def scope_for(several):
    return tf.distribute.MirroredStrategy().scope() if several else contextlib.nullcontext()


{steps}
def step{last}(scope):
    {entered}
        return tf.Variable(1.0)


step0(scope_for(True))
"""


@pytest.mark.parametrize(
    ("calls", "entered", "expected"),
    [(3, "with scope:", set()), (40, "with scope:", set()), (3, "if scope:", {"GPU203"}), (40, "if scope:", set())],
)
def test_a_with_deeper_than_calls_are_followed(calls: int, entered: str, expected: set[str], tmp_path: Path) -> None:
    steps = "".join(f"def step{one}(scope):\n    return step{one + 1}(scope)\n\n\n" for one in range(calls))
    text = DEEP.format(steps=steps, last=calls, entered=entered)
    assert codes_in(text, tmp_path) & {"GPU203"} == expected
