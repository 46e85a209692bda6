"""Programs that double a value row after row, then use it wherever a rule may read it."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from textwrap import indent

ROWS = 30
"""Rows that double a value: walked without a memo, it would be walked a thousand million times."""

HEADER = """\
import contextlib, functools, json, math, os, pickle, subprocess
import horovod.tensorflow as hvd
import keras
import numpy as np
import other
import tensorflow as tf
from other import args, f

strategy = tf.distribute.MirroredStrategy()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
optimizer = tf.keras.optimizers.SGD(0.1)
dataset = tf.data.Dataset.from_tensor_slices(np.zeros((100, 3))).batch(8)
samples = other.samples()
log = []
table = {}


def pair(a, b):
    return a, b


def both(a, b):
    return a + b


class Box:
    def __init__(self, a, b=None):
        self.a = a
        self.b = b

    def __call__(self, x):
        return self.a(x)


class Layer(tf.keras.layers.Layer):
    def __init__(self, a, b=None):
        super().__init__()
        self.a = a
        self.b = b

    def call(self, x):
        return self.b(self.a(x))


"""
AROUND = ("if f():", "for batch in dataset:", "with strategy.scope():", "if v:", "with tf.device('/gpu:0'):")


@cache
def parts(name: str) -> tuple[str, ...]:
    """The "values", "rows" or "uses" of doubling.txt."""
    text = Path(__file__).with_name("doubling.txt").read_text()
    section = text.partition(f"[{name}]\n")[2].partition("\n\n")[0]
    return tuple(line.replace("\\n", "\n") for line in section.splitlines())


def program(rng: random.Random, row: str, uses: list[str]) -> bytes:
    """A program in which `row` doubles a list of known elements, then some value, which `uses` read."""
    body = ["v = [1, 2]", *_doubled(row), "model.fit(v)"]
    body += [f"v = {rng.choice(parts('values'))}", *_doubled(row)]
    body += [rng.choice(AROUND), *(indent(use, "    ") for use in uses)]
    return _in_main(body).encode()


def program_asking(values: Iterable[str], row: str) -> str:
    """A program in which `row` doubles each value, which `ask` receives."""
    return _in_main([line for value in values for line in (f"v = {value}", *_doubled(row), "ask(v)")])


def _doubled(row: str) -> list[str]:
    return [row.replace("{i}", str(number)) for number in range(ROWS)]


def _in_main(body: list[str]) -> str:
    main = indent("\n".join(body), "    ")
    return f"{HEADER}def main(given, gpus=None):\n{main}\n\n\nmain(other.given())\n"


def any_program(rng: random.Random) -> bytes:
    """One of a random row and random uses."""
    return program(rng, rng.choice(parts("rows")), rng.sample(parts("uses"), 30))
