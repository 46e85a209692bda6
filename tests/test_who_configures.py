"""GPU configuration and the code that runs: functions that are never called neither affect the program nor are affected
by it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

GROWTH = """
import tensorflow as tf


def one():
    gpus = tf.config.list_physical_devices("GPU")
    tf.config.experimental.set_memory_growth(gpus[0], True)


def another():
    gpus = tf.config.list_physical_devices("GPU")
    tf.config.experimental.set_memory_growth(gpus[1], True)


def each():
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)


"""


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("one()", {"GPU303"}),
        ("if __name__ == '__main__':\n    one()", {"GPU303"}),
        ("one()\neach()", set()),
        ("one()\nanother()", set()),
        ("import sys\nif sys.argv[1] == 'first':\n    one()\nelse:\n    each()", {"GPU303"}),
        ("import sys\nif sys.argv[1] == 'first':\n    one()\nif sys.argv[1] == 'first':\n    each()", set()),
        ("each()", set()),
        ("", set()),
    ],
)
def test_growth_in_functions_that_are_called(calls: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(GROWTH + calls, tmp_path) == expected


LIMIT = """
import tensorflow as tf


def limited(size):
    for gpu in tf.config.list_physical_devices("GPU"):
        parts = [tf.config.LogicalDeviceConfiguration(memory_limit=size)]
        tf.config.set_logical_device_configuration(gpu, parts)


def growing():
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)


def plot():
    growing()
    print(tf.config.list_physical_devices("GPU"))


{calls}
"""


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("if __name__ == '__main__':\n    limited(2048)", set()),
        ("if __name__ == '__main__':\n    limited(2048)\n    plot()", {"GPU306"}),
        ("limited(2048)", {"GPU306"}),
        ("limited(2048)\nif __name__ == '__main__':\n    print('main')", {"GPU306"}),
        ("def main():\n    limited(2048)\n    plot()", {"GPU306"}),
    ],
)
def test_growth_beside_a_limit_of_the_main_program(calls: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(textwrap.dedent(LIMIT).format(calls=calls), tmp_path) == expected


PINNED = """
import sys

import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")
if {test}:
    raise SystemExit("start me in another way")


def right(v):
    with tf.device("/GPU:1"):
        return tf.matmul(v, v)
"""


@pytest.mark.parametrize(("test", "expected"), [("len(gpus) < 2", set()), ("len(sys.argv) < 2", {"GPU101"})])
def test_a_module_that_ends_where_there_are_too_few_gpus_has_them(
    test: str, expected: set[str], tmp_path: Path
) -> None:
    assert codes_in(PINNED.format(test=test), tmp_path) == expected
