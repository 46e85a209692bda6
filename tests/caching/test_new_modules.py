"""Modules that appear between two runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests import warm

NETS = """
import tensorflow as tf


def small(units):
    return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(units)])


def large(units):
    return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(99), tf.keras.layers.Dense(units)])
"""


IMPORTED = """
import importlib
import sys
from importlib import import_module

import numpy as np

kind = sys.argv[1]
samples = np.zeros((1000, 4), "float32")
module = IMPORT
model = module.small(3)
for sample in samples:
    print(model.predict(np.expand_dims(sample, 0)))
"""


def test_a_module_added_to_a_package_is_found(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets/__init__.py").write_text("")
    (tmp_path / "main.py").write_text(IMPORTED.replace("IMPORT", 'import_module("nets." + kind)'))
    counts = []
    for _ in range(2):
        command = [sys.executable, "-m", "gpulint", "check", "--output-format", "json", "."]
        found = warm.gpulint().run(command, cwd=tmp_path)
        counts.append([finding["code"] for finding in json.loads(found.stdout)])
        (tmp_path / "nets/plain.py").write_text(NETS)
    assert counts == [[], ["GPU503"]]
