"""A comment suppresses a report only if it explains that very code, and is then listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.linting.engine import Checker
from gpulint.linting.finding import SuppressedBy
from gpulint.linting.pack import load
from gpulint.linting.selection import Catalogue
from gpulint.settings import SettingsFinder
from gpulint.sources.comments import without_comments
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
    ("docstring", "above", "beside", "reason"),
    [
        ("Rows.", "", "", None),
        ("Rows.", "", "  # the global one", "the global one"),
        ("Rows.", "", "  # global", "global"),
        ("Rows.", "", "  # not global, fix me", None),
        ("Rows.", "", "  # TODO: make it the global size", None),
        ("Rows.", "", "  # isn't the global size", None),
        ("Rows.", "", "  # global, not per replica", "global, not per replica"),
        ("Rows.", "", "  # is this the global size?", None),
        ("Rows.", "", "  # global seed", None),
        ("Rows.", "", "  # globals", None),
        ("Rows.", "# overall batch: that of all cards together", "", "overall batch: that of all cards together"),
        ("Rows.", "# The batch of all cards: this global\n# size is divided.", "",
         "The batch of all cards: this global size is divided."),
        ("Rows.", "# global step counter and batch norm", "", None),
        ("Rows.", "# The global registry is filled here.", "", None),
        ("Rows.", '"""global batch"""', "", None),
        ("Rows.", "# global batch\n", "", None),
        ("Batches of the global size.", "", "", "Batches of the global size."),
        ("Rows of the global table.", "", "", None),
        ("Globally batched.", "", "", None),
    ],
)  # fmt: skip
def test_a_batch_that_is_said_to_be_global_is_listed_as_suppressed(
    tmp_path: Path, docstring: str, above: str, beside: str, reason: str | None
) -> None:
    file = tmp_path / "train.py"
    file.write_text(PROGRAM.format(docstring=docstring, above=above, beside=beside), encoding="utf-8")
    assert found(file) == ([("GPU209", reason)] if reason else [("GPU209", None)])


def found(file: Path) -> list[tuple[str, str | None]]:
    """The findings of the shipped rules, and the suppressed ones with their explanations."""
    checker = Checker(SettingsFinder(isolated=True), Catalogue(load([], installed=False)))
    result = checker.check([str(file)])
    shown: list[tuple[str, str | None]] = [(finding.code, None) for finding in findings_of(result)]
    assert all(one.by is SuppressedBy.EXPLANATION for one in result.suppressed)
    return shown + [(one.finding.code, one.reason) for one in result.suppressed]


CLUSTER = """{top}import tensorflow as tf

{above}
strategy = tf.distribute.MultiWorkerMirroredStrategy(){beside}
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""

HOROVOD = """{top}import horovod.tensorflow.keras as hvd
import tensorflow as tf

{above}
hvd.init(){beside}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.SGD()), loss="mse")
model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)), callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


@pytest.mark.parametrize(
    ("program", "code", "variable"), [(CLUSTER, "GPU701", "TF_CONFIG"), (HOROVOD, "GPU704", "CUDA_VISIBLE_DEVICES")]
)
@pytest.mark.parametrize(
    ("top", "above", "beside", "is_explained"),
    [
        ("", "", "", False),
        ("# {} is nothing that this script knows.\n", "", "", False),
        ('"""The launcher sets {}."""\n', "", "", False),
        ("", "", "  # the launcher sets {}", True),
        ("", "", "  # {} is not set", False),
        ("", "", "  # {}", False),
        ("", "", "  # {} does odd things on the old machines", False),
        ("", "", "  # who sets {}?", False),
        ("", "", "  # the seed is set", False),
        ("", "", "  # {} comes from the job scheduler", True),
        ("", "", "  # every rank is given {} by mpirun", True),
        ("", "# Slurm sets {} for each task.", "", True),
        ("", "# Slurm sets {} for each task.\nx = 1", "", False),
    ],
)
def test_a_variable_that_a_launcher_is_said_to_set(
    program: str, code: str, variable: str, top: str, above: str, beside: str, is_explained: bool, tmp_path: Path
) -> None:
    file = tmp_path / "train.py"
    text = program.format(top=top.format(variable), above=above.format(variable), beside=beside.format(variable))
    file.write_text(text, encoding="utf-8")
    reason = (beside or above).format(variable).strip().removeprefix("# ")
    assert found(file) == [(code, reason if is_explained else None)]


def test_code_without_its_comments_and_docstrings() -> None:
    text = '"""TF_CONFIG"""\nx = "TF_CONFIG"  # two\n\n\ndef f():\n    """TF\n    CONFIG"""\n    "a" "b"\n'
    assert without_comments(text) == '\nx = "TF_CONFIG"  \n\n\ndef f():\n    \n     \n'
    assert without_comments("x = 1  # one\ny = (  # two\n") == "x = 1  \ny = (  \n"
