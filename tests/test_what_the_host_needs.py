"""Tensors that are read in every step: because the host works with what comes of them, or for nothing but a log."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

STEPS = """
import random

import gymnasium as gym
import numpy as np
import tensorflow as tf


class Store:
    def __init__(self):
        self.rows = np.zeros((4096, 4), "float32")

    def draw(self):
        chosen = np.random.randint(0, 4096, size=32)
        return self.rows[chosen], chosen

    def forget(self, which):
        self.rows = np.delete(self.rows, which, axis=0)


model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(6)])
optimizer = tf.keras.optimizers.Adam()
optimizer.build(model.trainable_variables)
store = Store()
env = gym.make("arm")
losses = []


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        scores = model(x)
        loss = tf.reduce_mean(scores**2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss, scores


for number in range(5000):
    x, chosen = store.draw()
    loss, scores = step(x)
"""


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("store.forget(chosen[scores.numpy()[:, 0] < 0.1])", set()),
        ("store.forget(scores.numpy()[:, 0] < 0.1)", set()),
        ("low = np.where(scores.numpy()[:, 0] < 0.1)[0]\nstore.forget(chosen[low])", set()),
        ("low = np.logical_and(scores.numpy() < 0.1, x[:, :1] > 0)\nstore.forget(chosen[low.any(axis=1)])", set()),
        ("low = (scores.numpy()[:, 0] < 0.1).nonzero()[0]\nif len(low):\n    store.forget(chosen[low])", set()),
        ("store.forget(chosen[~(scores.numpy()[:, 0] < 0.1)])", set()),
        ("x = scores.numpy()\nstore.forget(chosen[(x[:, 0] < 0.1) & (x[:, 1] > 0.2)])", set()),
        ("low = np.where(scores.numpy()[:, 0] < 0.1)[0]", {"GPU501"}),
        ("losses.append((scores.numpy() < 0.1).mean())", {"GPU501"}),
        ("print(number, np.where(scores.numpy()[:, 0] < 0.1)[0])", {"GPU501"}),
        ("low = scores.numpy() < 0.1\nstore.forget(chosen[:4])", {"GPU501"}),
    ],
)
def test_what_a_comparison_finds_is_needed_where_it_picks_rows(rest: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEPS + textwrap.indent(rest, "    "), tmp_path) == expected


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("np.unravel_index(best, (2, 3))", set()),
        ("np.array(list(np.unravel_index(best, (2, 3))) + [0])", set()),
        ("np.unravel_index(random.randrange(6), (2, 3))", {"GPU501"}),
    ],
)
def test_an_action_that_is_now_and_then_drawn_is_computed_of_what_was_read(
    chosen: str, expected: set[str], tmp_path: Path
) -> None:
    rest = f"""
        best = np.argmax(scores.numpy()[0])
        if random.random() < 0.1:
            best = random.randrange(6)
        env.step({chosen})
        """
    assert codes_in(STEPS + textwrap.indent(textwrap.dedent(rest), "    "), tmp_path) == expected
