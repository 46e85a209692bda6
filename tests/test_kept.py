"""Programs whose steps put tensors into lists, by the way that the lists grow and how long they live, with
look-alikes."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

STEP = """
import itertools
import sys

import tensorflow as tf

net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])
optimizer = tf.keras.optimizers.SGD(0.1)
optimizer.build(net.trainable_variables)
robust = "robust" in sys.argv
rows = tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(64)


@tf.function
def learn(x):
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(net(x) ** 2, axis=1)
    optimizer.apply_gradients(zip(tape.gradient(error, net.trainable_variables), net.trainable_variables))
    return error


def measured(x):
    error = learn(x)
    if robust:
        return tf.sqrt(error)
    return error * 2.0


def shown(x):
    error = learn(x)
    return error.numpy() if robust else error


class Plain:
    @tf.function
    def step(self, x):
        return learn(x)


class Halved(Plain):
    def step(self, x):
        return learn(x / 2.0)


def noise():
    while True:
        yield tf.random.normal((16, 4))


def some_noise():
    for _ in rows:
        yield tf.random.normal((16, 4))


def noise_until_enough():
    while True:
        x = tf.random.normal((16, 4))
        if tf.reduce_max(x) > 3.0:
            return
        yield x


errors = []
worker = Halved() if robust else Plain()
"""

BY_NAME = "import collections\nmean = tf.keras.metrics.Mean()\nerrors = collections.defaultdict({})\n"
EACH = "for i in range(90000):\n    x = tf.random.normal((16, 4))\n"

CASES = [
    ("one of two tensors", EACH + "    errors.append(measured(x))", {"GPU307"}),
    ("a single number", EACH + "    errors.append(tf.reduce_mean(learn(x)))", set()),
    ("a tensor or an array", EACH + "    errors.append(shown(x))", set()),
    ("what a method of one of two objects gives", EACH + "    errors.append(worker.step(x))", {"GPU307"}),
    ("a list and one more", EACH + "    errors = errors + [learn(x)]", {"GPU307"}),
    ("a tuple and one more", "errors = ()\n" + EACH + "    errors = errors + (learn(x),)", {"GPU307"}),
    ("a list and another one", EACH + "    both = errors + [learn(x)]", set()),
    (
        "a list and one more, anew in each epoch",
        """
        for epoch in range(9):
            errors = []
            for x in rows:
                errors = errors + [learn(x)]
        """,
        set(),
    ),
    (
        "a list and one more, until it is long",
        EACH + "    errors = errors + [learn(x)]\n    if len(errors) == 50:\n        errors = []",
        set(),
    ),
    (
        "a list that gets more, until it is long",
        EACH + "    errors += [learn(x)]\n    if len(errors) == 50:\n        errors = []",
        set(),
    ),
    (
        "a list that is extended, until it is long",
        EACH + "    errors.extend([learn(x)])\n    if len(errors) == 50:\n        errors.clear()",
        set(),
    ),
    ("a list that gets more", EACH + "    errors += [learn(x)]", {"GPU307"}),
    ("lists of a dict", BY_NAME.format("list") + EACH + "    errors['a'].append(learn(x))", {"GPU307"}),
    ("numbers of a dict", BY_NAME.format("float") + EACH + "    errors['a'] += learn(x)", set()),
    ("what a dict has not", BY_NAME.format("") + EACH + "    errors['a'].append(learn(x))", set()),
    ("what else a dict makes", BY_NAME.format("mean.result") + EACH + "    errors['a'].append(learn(x))", set()),
    ("a generator without an end", "for x in noise():\n    errors.append(learn(x))", {"GPU307"}),
    ("a numbered one", "for i, x in enumerate(noise()):\n    errors.append(learn(x))", {"GPU307"}),
    ("a count without an end", "for i in itertools.count():\n    errors.append(learn(tf.ones((4, 4))))", {"GPU307"}),
    ("a generator beside what ends", "for x, y in zip(noise(), rows):\n    errors.append(learn(x))", set()),
    ("a generator of what there is", "for x in some_noise():\n    errors.append(learn(x))", set()),
    ("a generator that returns", "for x in noise_until_enough():\n    errors.append(learn(x))", set()),
    (
        "outputs for each of some samples",
        """
        for sample in tf.unstack(tf.ones((20, 4))) + errors:
            for x in rows:
                errors.append(net(x) - sample)
        """,
        set(),
    ),
    (
        "outputs for each row",
        """
        for row in net(tf.ones((20, 4))):
            for x in rows:
                errors.append(net(x) - row)
        """,
        set(),
    ),
    ("outputs in each epoch", "for i in range(99):\n    for x in rows:\n        errors.append(net(x))", {"GPU307"}),
    (
        "outputs for each batch that is trained with",
        """
        for x in rows:
            learn(x)
            for y in rows:
                errors.append(net(y))
        """,
        {"GPU307"},
    ),
]


@pytest.mark.parametrize(("body", "expected"), [one[1:] for one in CASES], ids=[one[0] for one in CASES])
def test_what_a_list_keeps(body: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + textwrap.dedent(body), tmp_path) - {"GPU509"} == expected
