"""One of many classes, chosen by a name that is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import codes_in

STEP = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
data = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64)


def eager_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
"""
COMPILED = "step = tf.function(eager_step)\n"


MANY = """
import json

import tensorflow as tf

CLASSES = {{}}


def register(cls):
    CLASSES[cls.__name__] = cls
    return cls


{others}


@register
class Trainer:
    def __init__(self, problem, batches):
        self.problem = problem
        self.batches = batches

    def run(self):
        for x in self.batches:
            print(self.problem(x))


def main(settings):
    CLASSES[settings["trainer"]]({given}).run()


main(json.load(open("settings.json")))
"""


OTHER = """
@register
class Other{number}:
    def __init__(self, rows, columns):
        self.rows = rows

    def run(self):
        return self.rows
"""


@pytest.mark.parametrize(
    ("given", "expected"), [("problem=step, batches=data", {"GPU501"}), ("rows=4, columns=2", set())]
)
def test_a_class_that_accepts_the_arguments(given: str, expected: set[str], tmp_path: Path) -> None:
    others = "\n".join(OTHER.format(number=number) for number in range(20))
    program = STEP + COMPILED + MANY.format(others=others, given=given)
    assert codes_in(program, tmp_path) == expected


REGISTRY = """
import json

import tensorflow as tf


class Registry:
    def __init__(self):
        self.entries = {{}}

    def register(self, category, name):
        def decorate(cls):
            self.entries[(category, name)] = cls
            return cls

        return decorate

    def get(self, category, name):
        return self.entries[(category, name)]


registry = Registry()
{others}


@registry.register("trainer", "plain")
class Trainer:
    def __init__(self, step):
        self.step = step

    def run(self):
        for x in data:
            print(self.step(x).numpy())


settings = json.load(open("settings.json"))
registry.get("{category}", settings["trainer"])(step).run()
"""


REGISTERED = """
@registry.register("loader", "{number}")
class Loader{number}:
    def __init__(self, step):
        pass

    def run(self):
        return {number}
"""


@pytest.mark.parametrize(("category", "expected"), [("trainer", {"GPU501"}), ("loader", set())])
def test_a_registry_keyed_by_pairs(category: str, expected: set[str], tmp_path: Path) -> None:
    others = "\n".join(REGISTERED.format(number=number) for number in range(12))
    assert codes_in(STEP + COMPILED + REGISTRY.format(others=others, category=category), tmp_path) == expected
