"""What one file of a project says depends on how the others use it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from gpulint.linting.engine import Checker
from gpulint.linting.pack import load
from gpulint.linting.selection import Catalogue
from gpulint.settings import Settings, SettingsFinder

PACK = load(installed=False)

GROWTH = """
    import tensorflow as tf


    def prepare():
        gpus = tf.config.list_physical_devices("GPU")
        tf.config.experimental.set_memory_growth(gpus[0], True)
"""

BOTH = """
    import tensorflow as tf


    def prepare(growth, limit):
        for gpu in tf.config.list_physical_devices("GPU"):
            if growth:
                tf.config.experimental.set_memory_growth(gpu, True)
            tf.config.set_logical_device_configuration(
                gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=limit)]
            )
"""

CASES = [
    ("called by nobody", GROWTH, "import tensorflow", {"GPU303"}),
    (
        "called where only one GPU is visible",
        GROWTH,
        "import os\nimport runtime\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\nruntime.prepare()\n# tensorflow",
        set(),
    ),
    ("called where all are visible", GROWTH, "import runtime\nruntime.prepare()\n# tensorflow", {"GPU303"}),
    ("called without growth", BOTH, "from runtime import prepare\nprepare(False, 1024)\n# tensorflow", set()),
    ("called with growth", BOTH, "from runtime import prepare\nprepare(True, 1024)\n# tensorflow", {"GPU306"}),
]


def codes_in(directory: Path, **files: str) -> set[str]:
    for name, text in files.items():
        (directory / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
    paths = [str(directory / f"{name}.py") for name in files]
    finder = SettingsFinder(Settings(root=str(directory)))
    return {finding.code for finding in Checker(finder, Catalogue(PACK)).check(paths).findings}


@pytest.mark.parametrize(("case", "runtime", "main", "expected"), CASES, ids=[case for case, *_ in CASES])
def test_a_function_of_another_file(case: str, runtime: str, main: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(tmp_path, runtime=runtime, main=main) == expected


def test_a_test_file_is_no_caller_that_counts(tmp_path: Path) -> None:
    called = "import os\nimport runtime\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\nruntime.prepare()\n# tensorflow"
    assert codes_in(tmp_path, runtime=GROWTH, test_runtime=called) == {"GPU303"}


def test_a_file_that_only_sets_the_environment_is_read(tmp_path: Path) -> None:
    assert codes_in(tmp_path, environment="import os\n\nos.environ['TF_GPU_THREAD_COUNT'] = 2\n") == {"GPU304"}


def test_a_strategy_with_a_fall_back_initialises_the_runtime_either_way(tmp_path: Path) -> None:
    program = """
        import tensorflow as tf


        def choose():
            try:
                return tf.distribute.MirroredStrategy()
            except ValueError:
                return tf.distribute.OneDeviceStrategy("/cpu:0")


        def main():
            strategy = choose()
            tf.config.threading.set_inter_op_parallelism_threads(2)
            return strategy


        main()
    """
    assert codes_in(tmp_path, main=program) == {"GPU301"}


AGENT = """
    import tensorflow as tf


    class Agent:
        def __init__(self):
            self.network = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
            self.optimizer = tf.keras.optimizers.Adam(1e-3)

        def learn(self, states):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.network(states) ** 2)
            weights = self.network.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
"""


@pytest.mark.parametrize(
    ("loop", "expected"), [("for states in play(): agent.learn(states)", {"GPU508"}), ("agent.learn(play())", set())]
)
def test_a_main_file_that_never_names_tensorflow_is_read(loop: str, expected: set[str], tmp_path: Path) -> None:
    imports = "from agent import Agent\nfrom world import play\n"
    main = f"{imports}if __name__ == '__main__':\n    agent = Agent()\n    {loop}\n"
    assert codes_in(tmp_path, agent=AGENT, main=main) == expected


def test_names_that_are_gone_are_told_of_whoever_calls(tmp_path: Path) -> None:
    old = "import tensorflow as tf\n\n\ndef old(way):\n    if way:\n        tf.keras.utils.multi_gpu_model(0)\n"
    assert codes_in(tmp_path, old=old, main="import tensorflow as tf\nfrom old import old\nold(False)\n") == {"GPU901"}
