"""Clusters: conditions that choose among workers, and those that only demand something of each."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

WORKERS = """
import json
import os
import sys

import tensorflow as tf

cluster = json.loads(os.environ["TF_CONFIG"])
mode = os.environ.get("MODE", "train")
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")


def check(mode):
    if mode not in ("train", "both"):
        raise ValueError(mode)


def run(folder, steps=100):
{body}


run("run")
"""

SAVE = "model.save_weights(folder + '/w.weights.h5')\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("assert mode == 'train'\n", {"GPU703"}),
        ("assert mode in ('train', 'both') and sys.argv\n", {"GPU703"}),
        ("check(mode)\n", {"GPU703"}),
        ("if mode == 'test':\n    print('no such mode')\n    raise ValueError(mode)\n", {"GPU703"}),
        ("if mode == 'train':\n    pass\nelse:\n    raise ValueError(mode)\n", {"GPU703"}),
        ("assert cluster['task']['index'] == 0\n", set()),
        ("if mode == 'test':\n    sys.exit()\n", set()),
        ("if mode == 'test':\n    raise SystemExit\n", set()),
        ("if mode == 'test':\n    return\n", set()),
        ("if mode == 'test':\n    if sys.argv:\n        return\n    raise ValueError(mode)\n", set()),
        ("try:\n    assert mode == 'train'\nexcept AssertionError:\n    return\n", set()),
        ("if sys.argv:\n    assert mode == 'train'\nif mode != 'train':\n    return\n", set()),
    ],
)
def test_what_is_demanded_of_each_worker_chooses_none(body: str, expected: set[str], tmp_path: Path) -> None:
    program = textwrap.dedent(WORKERS).format(body=textwrap.indent(body + SAVE, "    "))
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("step % 10 == 0 or step % 7 == 3", {"GPU703"}),
        ("step % 10 == 0 or sys.argv", set()),
        ("step % 10 == 0 and mode == 'train'", set()),
    ],
)
def test_steps_at_which_each_worker_saves(test: str, expected: set[str], tmp_path: Path) -> None:
    loop = f"for step in range(steps):\n    print(step)\n    if {test}:\n        {SAVE}"
    program = textwrap.dedent(WORKERS).format(body=textwrap.indent(loop, "    "))
    assert codes_in(program, tmp_path) == expected


LATE = """
import json
import os

import tensorflow as tf

cluster = json.loads(os.environ["TF_CONFIG"])


def prepare():
    cards = tf.config.list_physical_devices("GPU")
    if {test}:
        print(len(tf.config.list_logical_devices("GPU")))


prepare()
strategy = tf.distribute.MultiWorkerMirroredStrategy()
"""


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("cards", {"GPU702"}),
        ("len(cards) > 0", {"GPU702"}),
        ("not cards", set()),
        ("len(cards) > 1", set()),
        ("os.environ.get('SHOW')", set()),
        ("cards[1:]", set()),
        ("tf.config.list_physical_devices('TPU')", set()),
    ],
)
def test_what_is_done_on_each_machine_with_a_gpu(test: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(LATE.format(test=test), tmp_path) == expected


ALONE = """
import tensorflow as tf

{imported}

strategy = {made}
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
"""

RESOLVING = """
import tensorflow as tf


def place():
    return tf.distribute.cluster_resolver.{resolver}
"""


@pytest.mark.parametrize(
    ("resolver", "expected"),
    [
        ("TFConfigClusterResolver().task_id", set()),
        ("SlurmClusterResolver().get_task_info()", set()),
        ("TPUClusterResolver(tpu='')", {"GPU701"}),
    ],
)
def test_a_resolver_in_any_file_of_a_program_says_where_its_workers_are(
    resolver: str, expected: set[str], tmp_path: Path
) -> None:
    (tmp_path / "places.py").write_text(RESOLVING.format(resolver=resolver), encoding="utf-8")
    made = "tf.distribute.MultiWorkerMirroredStrategy()"
    assert codes_in(ALONE.format(imported="from places import place", made=made), tmp_path) == expected


def test_a_resolver_in_a_file_that_the_program_does_not_import_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "places.py").write_text(RESOLVING.format(resolver="TFConfigClusterResolver()"), encoding="utf-8")
    made = "tf.distribute.MultiWorkerMirroredStrategy()"
    assert codes_in(ALONE.format(imported="", made=made), tmp_path) == {"GPU701"}
