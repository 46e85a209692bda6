"""Loops that accumulate gradients depending on a setting."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

LOOP = """
import argparse

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--schedule", default="late")
parser.add_argument("--accumulation_steps", type=int, default=4)
args = parser.parse_args()
net = tf.keras.Sequential([tf.keras.Input((6,)), tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.RMSprop()
sums = [tf.Variable(tf.zeros_like(one)) for one in net.trainable_variables]


def gradients(x, parts=1):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(net(x) ** 2) / parts
    return tape.gradient(loss, net.trainable_variables)


def add(found):
    for total, one in zip(sums, found):
        total.assign_add(one)


def apply():
    optimizer.apply_gradients(zip(sums, net.trainable_variables))


def empty():
    for total in sums:
        total.assign(tf.zeros_like(total))


@tf.function
def train(data):
    for step, x in enumerate(data):
{body}


train(tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 6))).batch(64))
"""

LATE = """
    add(gradients(x, args.accumulation_steps))
    if (step + 1) % args.accumulation_steps == 0:
        apply()
        empty()
"""


def either(test: str, other: str, first: str = LATE, before: str = "") -> str:
    branches = f"{before}if {test}:{textwrap.indent(textwrap.dedent(first), '    ')}else:\n"
    return LOOP.format(body=textwrap.indent(branches + textwrap.indent(other, "    "), " " * 8))


PLAIN = "optimizer.apply_gradients(zip(gradients(x), net.trainable_variables))"
SCALED = "optimizer.apply_gradients(zip(gradients(x, args.accumulation_steps), net.trainable_variables))"
GROWING = "add(gradients(x))\noptimizer.apply_gradients(zip(sums, net.trainable_variables))"
EMPTIED = f"{GROWING}\nempty()"
RARELY = f"{GROWING}\nif (step + 1) % args.accumulation_steps == 0:\n    empty()"


@pytest.mark.parametrize(
    ("test", "other", "wrong"),
    [
        ("args.schedule == 'late'", SCALED, True),
        ("args.schedule == 'late'", GROWING, True),
        ("args.schedule == 'late'", RARELY, True),
        ("args.schedule == 'late'", PLAIN, False),
        ("args.schedule == 'late'", EMPTIED, False),
        ("args.accumulation_steps > 1", SCALED, False),
        ("args.accumulation_steps > 1", PLAIN, False),
        ("args.accumulation_steps != 1", SCALED, False),
        ("args.accumulation_steps > 1", GROWING, False),
        ("args.accumulation_steps", SCALED, False),
        ("step % 3 == 0", EMPTIED, False),
        ("any(read(step))", SCALED, True),
        ("any(read(step))", GROWING, False),
    ],
)
def test_the_other_side_of_a_setting(test: str, other: str, wrong: bool, tmp_path: Path) -> None:
    assert ("GPU212" in codes_in(either(test, other), tmp_path)) is wrong


ALL = "found = gradients(x, args.accumulation_steps)\n"
OF_ALL = "\nadd(found)\nif (step + 1) % args.accumulation_steps == 0:\n    apply()\n    empty()\n"


@pytest.mark.parametrize(
    ("test", "wrong"), [("args.schedule == 'late'", True), ("args.accumulation_steps > 1", False), ("step > 9", False)]
)
def test_gradients_that_both_sides_use(test: str, wrong: bool, tmp_path: Path) -> None:
    text = either(test, "optimizer.apply_gradients(zip(found, net.trainable_variables))", OF_ALL, ALL)
    assert ("GPU212" in codes_in(text, tmp_path)) is wrong


@pytest.mark.parametrize(("test", "wrong"), [("args.schedule == 'late'", True), ("read(step)", False)])
def test_sums_that_both_sides_add_up(test: str, wrong: bool, tmp_path: Path) -> None:
    nth = "\nif (step + 1) % args.accumulation_steps == 0:\n    apply()\n    empty()\n"
    other = "optimizer.apply_gradients(zip(sums, net.trainable_variables))"
    assert ("GPU212" in codes_in(either(test, other, nth, "add(gradients(x))\n"), tmp_path)) is wrong
