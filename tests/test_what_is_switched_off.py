"""Debugging aids that are switched off again: afterwards, on the way that the program takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import codes_in

SETUP = """
import tensorflow as tf

data = tf.data.Dataset.from_tensor_slices((tf.zeros((640, 4)), tf.zeros((640, 1)))).batch(32)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
start, stop = tf.profiler.experimental.start, tf.profiler.experimental.stop


def begin():
    start("logs")


def end():
    stop()


"""

ROUNDS = """
for part in range(10):
    if part:
        stop()
    start("logs")
    model.fit(data)
"""

CALLBACK = """
class Watch(tf.keras.callbacks.Callback):
    def on_train_end(self, logs=None):
        stop()

    def on_train_begin(self, logs=None):
        start("logs")


model.fit(data, callbacks=[Watch()])
"""

MANAGER = """
import contextlib


@contextlib.contextmanager
def profiled():
    start("logs")
    try:
        yield
    finally:
        stop()


with profiled():
    model.fit(data)
"""

CASES = [
    ("one of two that is stopped", "start('a')\nmodel.fit(data)\nstop()\nstart('b')\nmodel.fit(data)", {"GPU507"}),
    ("one in a function of two", "begin()\nmodel.fit(data)\nend()\nbegin()\nmodel.fit(data)", {"GPU507"}),
    ("stopped before it starts", "stop()\nstart('a')\nmodel.fit(data)", {"GPU507"}),
    (
        "stopped on another way",
        "import sys\nif sys.argv:\n    stop()\nelse:\n    start('a')\n    model.fit(data)",
        {"GPU507"},
    ),
    ("each of two", "start('a')\nmodel.fit(data)\nstop()\nstart('b')\nmodel.fit(data)\nstop()", set()),
    ("each of five", "begin()\nmodel.fit(data)\nend()\n" * 5, set()),
    ("each of five, started in place", "start('a')\nmodel.fit(data)\nend()\n" * 5, set()),
    ("the one of the round before", ROUNDS, set()),
    ("a callback whose methods stand the other way round", CALLBACK, set()),
    ("a context manager", MANAGER, set()),
]


@pytest.mark.parametrize(("program", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_profiler(program: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(SETUP + program, tmp_path) == expected


CHECKS = "tf.debugging.{}able_check_numerics()\nmodel.fit(data)\n"


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        (("en", "dis"), set()),
        (("dis", "en"), {"GPU507"}),
        (("en", "dis", "en"), {"GPU507"}),
        (("en", "dis", "en", "dis"), set()),
    ],
)
def test_checks_of_numerics(switches: tuple[str, ...], expected: set[str], tmp_path: Path) -> None:
    assert codes_in(SETUP + "".join(map(CHECKS.format, switches)), tmp_path) == expected


@pytest.mark.parametrize(
    ("switches", "expected"),
    [((True, False), set()), ((False, True), {"GPU506"}), ((True, False, True), {"GPU506"})],
)
def test_eager_functions(switches: tuple[bool, ...], expected: set[str], tmp_path: Path) -> None:
    program = "".join(f"tf.config.run_functions_eagerly({on})\nmodel.fit(data)\n" for on in switches)
    assert codes_in(SETUP + program, tmp_path) == expected
