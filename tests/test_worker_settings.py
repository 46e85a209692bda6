"""Workers whose strategy and paths come from a settings file, through helpers and attributes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import codes_in, codes_in_project

HELPER = """
import tensorflow as tf


class Workers:
    def __init__(self, settings):
        self.strategy = chosen(settings["strategy"])


def chosen(name):
    if name == "several machines":
        # TF_CONFIG comes from whoever starts it
        return tf.distribute.MultiWorkerMirroredStrategy()
    return tf.distribute.MirroredStrategy()
"""

RUNNER = """
import os

import tensorflow as tf
from helper import Workers


class Runner:
    def __init__(self, settings):
        self.settings = settings
        self.strategy = Workers(settings).strategy
        with self.strategy.scope():
            self.weights = tf.Variable(tf.zeros(4))
        self.checkpoint = tf.train.Checkpoint(weights=self.weights)

    def run(self):
        for epoch in range(50):
            self.checkpoint.write({path})
"""

MAIN = """
import json
import os
import sys
import tempfile

import yaml
from runner import Runner

{load}


if __name__ == "__main__":
    Runner(settings).run()
"""

FOLDER = 'os.path.join(self.settings["folder"], "weights")'
OF_EPOCH = 'os.path.join(self.settings["folder"], f"{epoch}.ckpt")'
YAML = "with open(sys.argv[1]) as file:\n    settings = yaml.safe_load(file)"
JSON = "with open('settings.json') as file:\n    settings = json.load(file)"
IN_FUNCTION = (
    "def load(name):\n    with open(name) as file:\n        return json.load(file)\nsettings = load(sys.argv[1])"
)
OF_RANK = "with open(os.environ['RANK'] + '.json') as file:\n    settings = json.load(file)"
TEMPORARY = "with tempfile.TemporaryDirectory() as made:\n    settings = {'folder': made, 'strategy': sys.argv[1]}"


@pytest.mark.parametrize(
    ("load", "path", "expected"),
    [
        (YAML, FOLDER, {"GPU703"}),
        (YAML, OF_EPOCH, {"GPU703"}),
        (JSON, FOLDER, {"GPU703"}),
        (IN_FUNCTION, FOLDER, {"GPU703"}),
        (OF_RANK, FOLDER, set()),
        (TEMPORARY, FOLDER, set()),
        (YAML, 'os.path.join(self.settings["folder"], str(self.settings["task"]))', set()),
        (YAML, 'self.strategy.cluster_resolver.task_id and "rest" or self.settings["folder"]', set()),
    ],
    ids=["yaml", "epoch", "json", "function", "file of a rank", "temporary", "of a task", "chosen"],
)
def test_a_path_of_a_file_of_settings(load: str, path: str, expected: set[str], tmp_path: Path) -> None:
    files = {"helper": HELPER, "runner": RUNNER.format(path=path), "main": MAIN.format(load=load)}
    assert codes_in_project(tmp_path, **files) == expected


IN_FILE = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with {manager} as notes:
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.summary(print_fn=notes.write)
with strategy.scope():
    model.compile(optimizer="sgd", loss="mse")
"""


@pytest.mark.parametrize(
    ("manager", "expected"),
    [
        ("open('notes.txt', 'w')", {"GPU201"}),
        ("tf.io.gfile.GFile('notes.txt', 'w')", {"GPU201"}),
        ("opened('notes.txt')", set()),
        ("opener.open_scope('notes.txt')", set()),
    ],
)
def test_a_file_that_is_opened_is_no_scope(manager: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(IN_FILE.format(manager=manager), tmp_path) & {"GPU201"} == expected
