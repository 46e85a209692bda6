"""What a `tf.function` gives to a loop is on the device, in whatever it stands, and what it takes goes there again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import codes_in

TRAINING = """
import math

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(4)])
optimizer = tf.keras.optimizers.Adam()
optimizer.build(model.trainable_variables)


@tf.function
def step(x, loss, extra=None):
    with tf.GradientTape() as tape:
        out = model(x, training=True)
        cost = loss(x, out)
    optimizer.apply_gradients(zip(tape.gradient(cost, model.trainable_variables), model.trainable_variables))
    return {gives}


def run(loss, batches, total=0.0):
    state = batches.first
    for number, (x, y) in enumerate(batches):
        {body}
    return total
"""

READS = [
    ("cost, out", "cost, _ = step(x, loss)\n        total += cost.numpy()"),
    ("(cost, (x, out))", "cost, _ = step(x, loss)\n        total += float(cost)"),
    ("[x, cost]", "print(float(step(x, loss)[1]))"),
    ("{'cost': cost, 'out': out}", "total += step(x, loss)['cost'].numpy()"),
    ("{'costs': [cost, cost]}", "total += step(x, loss)['costs'][0].numpy()"),
    ("(cost, out) if extra is None else (cost, None)", "cost, _ = step(x, loss)\n        total += cost.numpy()"),
    ("(cost, extra)", "cost, _ = step(x, loss, y)\n        total += cost.numpy()"),
]

HOST = [
    ("cost, extra", "_, given = step(x, loss, y)\n        total += given.numpy()"),
    ("cost, (extra, 1)", "_, (given, _) = step(x, loss, y)\n        total += given.numpy()"),
    ("cost, None", "_, given = step(x, loss)\n        print(given is None)"),
    ("cost, 'done'", "_, given = step(x, loss)\n        print(given, len(given))"),
    ("cost, next(extra)", "_, given = step(x, loss, y)\n        total += given.numpy()"),
    ("cost, out", "cost, _ = step(x, loss)\n        if number % 100 == 0:\n            total += cost.numpy()"),
    ("cost, out", "given = step(x, loss)\n        print(len(given))"),
]


@pytest.mark.parametrize(("gives", "body"), READS)
def test_a_part_of_what_a_step_gives_is_read(gives: str, body: str, tmp_path: Path) -> None:
    program = TRAINING.replace("{gives}", gives).replace("{body}", body)
    assert codes_in(program, tmp_path) == {"GPU501"}


@pytest.mark.parametrize(("gives", "body"), HOST)
def test_a_part_that_the_host_has_or_that_is_rarely_read_is_not(gives: str, body: str, tmp_path: Path) -> None:
    program = TRAINING.replace("{gives}", gives).replace("{body}", body)
    assert codes_in(program, tmp_path) == set()


KEPT = [
    ("out", "state = step(x, loss, state).numpy()", {"GPU501"}),
    ("out", "last = step(x, loss, state)\n        state = last.numpy() * 0.5", {"GPU501"}),
    (
        "cost",
        "state = float(step(x, loss, tf.constant(1.0)))\n        step(x, loss, tf.cast(state, 'float32'))",
        {"GPU501"},
    ),
    ("out", "state = step(x, loss, state)", set()),
    ("out", "action = step(x, loss, y).numpy()\n        batches.take(action)", set()),
    (
        "out",
        "action = step(x, loss, y).numpy()\n        y, _, _ = batches.step(action)\n        step(x, loss, action)",
        set(),
    ),
    ("cost", "place = int(step(x, loss))\n        total += batches.rows[place]\n        step(x, loss, place)", set()),
]


@pytest.mark.parametrize(("gives", "body", "codes"), KEPT)
def test_a_value_that_the_next_step_takes_is_not_needed_on_the_host(
    gives: str, body: str, codes: set[str], tmp_path: Path
) -> None:
    program = TRAINING.replace("{gives}", gives).replace("{body}", body)
    assert codes_in(program, tmp_path) - {"GPU504"} == codes
