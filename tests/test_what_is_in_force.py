"""Settings of the runtime that are made once more, after it has started: those in force already raise nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import codes_in

THREADS = "tf.config.threading."
GROW = "for gpu in tf.config.list_physical_devices('GPU'):\n    tf.config.experimental.set_memory_growth(gpu, {})"
SPLIT = "tf.config.set_logical_device_configuration(gpus[0], [tf.config.LogicalDeviceConfiguration(1024)] * {})"


def program(before: str, after: str) -> str:
    return f"""
import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")
{before}
print(tf.linalg.norm(tf.eye(3)))
{after}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{THREADS}set_inter_op_parallelism_threads(4)", f"{THREADS}set_inter_op_parallelism_threads(num_threads=4)"),
        ("def limit(n=4):\n    tf.config.threading.set_intra_op_parallelism_threads(n)\nlimit()", "limit(4)"),
        (
            f"{THREADS}set_inter_op_parallelism_threads(2)",
            f"{THREADS}set_inter_op_parallelism_threads({THREADS}get_inter_op_parallelism_threads())",
        ),
        ("tf.config.set_visible_devices(gpus[0], 'GPU')", "tf.config.set_visible_devices([gpus[0]], 'GPU')"),
        ("tf.config.set_visible_devices(gpus[0], 'GPU')", "tf.config.set_visible_devices(gpus[:1], 'GPU')"),
        ("", "tf.config.set_visible_devices(gpus, 'GPU')"),
        (
            "tf.config.set_visible_devices(gpus[1], 'GPU')",
            "tf.config.set_visible_devices(tf.config.get_visible_devices('GPU'), 'GPU')",
        ),
        (GROW.format(True) + "\n" + GROW.format(False), GROW.format(False)),
        (SPLIT.format(2), SPLIT.format(2)),
    ],
)
def test_a_setting_that_is_in_force_already_is_taken(before: str, after: str, tmp_path: Path) -> None:
    assert "GPU301" not in codes_in(program(before, after), tmp_path)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{THREADS}set_inter_op_parallelism_threads(4)", f"{THREADS}set_inter_op_parallelism_threads(2)"),
        (f"{THREADS}set_inter_op_parallelism_threads(4)", f"{THREADS}set_intra_op_parallelism_threads(4)"),
        ("def limit(n=4):\n    tf.config.threading.set_intra_op_parallelism_threads(n)\nlimit()", "limit(2)"),
        ("", f"{THREADS}set_inter_op_parallelism_threads({THREADS}get_inter_op_parallelism_threads())"),
        ("tf.config.set_visible_devices(gpus[0], 'GPU')", "tf.config.set_visible_devices(gpus[1], 'GPU')"),
        ("tf.config.set_visible_devices(gpus[0], 'GPU')", "tf.config.set_visible_devices(gpus, 'GPU')"),
        ("", "tf.config.set_visible_devices(tf.config.list_physical_devices('GPU'))"),
        (GROW.format(True), GROW.format(False)),
        (SPLIT.format(2), SPLIT.format(3)),
    ],
)
def test_a_setting_that_changes_what_is_in_force_is_too_late(before: str, after: str, tmp_path: Path) -> None:
    assert "GPU301" in codes_in(program(before, after), tmp_path)


def test_threads_that_each_round_sets_anew_are_in_force_from_the_first_round_on(tmp_path: Path) -> None:
    text = """
import tensorflow as tf

for seed in range(3):
    tf.config.threading.set_intra_op_parallelism_threads(8)
    print(tf.random.stateless_normal((2,), seed=(seed, 0)))
"""
    assert codes_in(text, tmp_path) == set()
