"""What an author writes beside the code takes a report back."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.linting.engine import Checker
from gpulint.linting.pack import load
from gpulint.linting.selection import Catalogue
from gpulint.settings import SettingsFinder
from tests.checking import findings_of

PROGRAM = '''import tensorflow as tf


def make(rows, size):
    """{docstring}"""
    return tf.data.Dataset.from_tensor_slices(rows).batch(size)


strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
{above}
size = 64{beside}
model.fit(make(tf.zeros((256, 2)), size))
'''


@pytest.mark.parametrize(
    ("docstring", "above", "beside", "found"),
    [
        ("Rows.", "", "", 1),
        ("Rows.", "", "  # the global one", 0),
        ("Rows.", "# overall: of all cards together", "", 0),
        ("Rows.", '"""global"""', "", 1),
        ("Rows.", "# global\n", "", 1),
        ("Batches of the global size.", "", "", 0),
        ("Rows of the global table.", "", "", 1),
        ("Globally batched.", "", "  # globals", 1),
    ],
)
def test_a_batch_that_is_said_to_be_global_is_left_alone(
    tmp_path: Path, docstring: str, above: str, beside: str, found: int
) -> None:
    file = tmp_path / "train.py"
    file.write_text(PROGRAM.format(docstring=docstring, above=above, beside=beside), encoding="utf-8")
    checker = Checker(SettingsFinder(isolated=True), Catalogue(load([], installed=False)))
    assert [finding.code for finding in findings_of(checker.check([str(file)]))] == ["GPU209"] * found
