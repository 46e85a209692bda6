"""Training behind decorators of unknown libraries: what the function does shows whether it is traced."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import codes_in

TRAINED = """
import click
import gin
import hydra
import tensorflow as tf
import typer
from sacred import Experiment

from somewhere import measured

app, ex = typer.Typer(), Experiment("sums")
weight = tf.Variable(tf.ones((4, 1)))
optimizer = tf.keras.optimizers.SGD()


{of_step}
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.matmul(x, weight) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
    return loss


{of_loop}
def train():
    data = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64)
    for epoch in range(100):
        for x in data:
            loss = step(x)
            {read}


if __name__ == "__main__":
    train()
"""

LOOSE, BOTH = {"GPU508"}, {"GPU501", "GPU508"}


@pytest.mark.parametrize(
    "decorator",
    [
        "@click.command()\n@click.option('--rate', default=0.1)",
        "@hydra.main(config_path='conf', config_name='sums')",
        "@gin.configurable",
        "@app.command()",
        "@ex.automain",
        "@measured",
        "@measured('epochs')",
    ],
)
@pytest.mark.parametrize("read", ["print(float(loss))", "print(loss.numpy())"])
def test_a_loop_that_reads_tensors_is_not_traced(decorator: str, read: str, tmp_path: Path) -> None:
    text = TRAINED.format(of_step="", of_loop=decorator, read=read)
    assert codes_in(text, tmp_path) & BOTH == BOTH


@pytest.mark.parametrize(
    ("of_step", "of_loop", "read", "expected"),
    [
        ("", "@measured", "print(loss)", set()),
        ("", "@measured", "if loss > 3.0:\n                break", set()),
        ("", "@measured", "if tf.executing_eagerly():\n                print(loss.numpy())", set()),
        ("@measured", "", "print(float(loss))", {"GPU501"}),
        ("@measured", "@measured", "print(float(loss))", {"GPU501"}),
        ("@tf.function", "@measured", "print(float(loss))", {"GPU501"}),
        ("", "@measured\n@tf.function", "print(loss)", set()),
    ],
    ids=["printed", "asked", "guarded", "step", "step and loop", "traced step", "traced loop"],
)
def test_a_decorator_may_trace_what_it_is_put_on(
    of_step: str, of_loop: str, read: str, expected: set[str], tmp_path: Path
) -> None:
    assert codes_in(TRAINED.format(of_step=of_step, of_loop=of_loop, read=read), tmp_path) & BOTH == expected


OF_ANOTHER_STEP = """
import tensorflow as tf

from somewhere import measured

weight, other = tf.Variable(1.0), tf.Variable(1.0)
optimizer = tf.keras.optimizers.SGD()


@measured
def trained(x):
    with tf.GradientTape() as tape:
        loss = weight * x
    optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])


@measured
def watched(x):
    return float(other * x)


for x in tf.data.Dataset.from_tensor_slices(tf.zeros(6400)).repeat():
    trained(x)
    watched(x)
"""


def test_a_read_says_nothing_of_another_function_behind_the_decorator(tmp_path: Path) -> None:
    assert "GPU508" not in codes_in(OF_ANOTHER_STEP, tmp_path)
