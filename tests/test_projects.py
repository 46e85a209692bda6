"""Findings in a file that depend on how other files of the project use it."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint
from tests.checking import codes_in_project, findings_in_project, findings_of

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


@pytest.mark.parametrize(("case", "runtime", "main", "expected"), CASES, ids=[case for case, *_ in CASES])
def test_a_function_of_another_file(case: str, runtime: str, main: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in_project(tmp_path, runtime=runtime, main=main) == expected


def test_a_test_file_is_no_caller_that_counts(tmp_path: Path) -> None:
    called = "import os\nimport runtime\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\nruntime.prepare()\n# tensorflow"
    assert codes_in_project(tmp_path, runtime=GROWTH, test_runtime=called) == {"GPU303"}


def test_a_file_that_only_sets_the_environment_is_read(tmp_path: Path) -> None:
    assert codes_in_project(tmp_path, environment="import os\n\nos.environ['TF_GPU_THREAD_COUNT'] = 2\n") == {"GPU304"}


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
    assert codes_in_project(tmp_path, main=program) == {"GPU301"}


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
    assert codes_in_project(tmp_path, agent=AGENT, main=main) == expected


def test_names_that_are_gone_are_told_of_whoever_calls(tmp_path: Path) -> None:
    old = "import tensorflow as tf\n\n\ndef old(way):\n    if way:\n        tf.keras.utils.multi_gpu_model(0)\n"
    assert codes_in_project(tmp_path, old=old, main="import tensorflow as tf\nfrom old import old\nold(False)\n") == {
        "GPU901"
    }


STEPS = """
    import tensorflow as tf


    class Steps:
        def __init__(self):
            self.model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
            self.optimizer = tf.keras.optimizers.SGD()

        def micro(self, batch):
            for x in tf.split(batch, 4):
                with tf.GradientTape() as tape:
                    loss = tf.nn.compute_average_loss(self.model(x))
                weights = self.model.trainable_variables
                self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
"""

RUN = """
    import tensorflow as tf

    from steps import Steps

    steps = Steps()


    {}
    def step(batch):
        steps.micro(batch)


    for batch in tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(64):
        step(batch)
"""


@pytest.mark.parametrize(("decorator", "expected"), [("@tf.function", set()), ("", {"GPU508"})])
def test_a_step_is_as_another_file_calls_it(decorator: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in_project(tmp_path, steps=STEPS, main=RUN.format(decorator)) == expected


TRAINER = """
    from pipeline import strategy_of


    class Trainer:
        def __init__(self, options):
            self.strategy = strategy_of(options)
            self.prepare()

        def prepare(self):
            raise NotImplementedError

        def train(self, data):
            self.model.fit(data.batch(8 * self.strategy.num_replicas_in_sync))
"""
PIPELINE = """
    import tensorflow as tf


    def strategy_of(options):
        return tf.distribute.MirroredStrategy(options.devices)
"""
HOOKED = """
    import keras
    from trainer import Trainer


    class {0}Trainer(Trainer):
        def prepare(self):
            {1}
            with self.strategy.scope():
                {2}
                self.model.compile("adam", "mse")
"""
MADE = "self.model = keras.Sequential([keras.layers.Dense(1)])"
KINDS = """
    from outside import OutsideTrainer
    from inside import InsideTrainer

    TRAINERS = {one.__name__: one for one in (OutsideTrainer, InsideTrainer)}
"""
MAIN = """
    from kinds import TRAINERS


    def main(options):
        TRAINERS[options.kind](options).train(options.data)
"""


@pytest.mark.parametrize("main", [{}, {"main": MAIN, "kinds": KINDS}], ids=["nobody makes", "a main file makes"])
def test_a_hook_of_a_subclass_that(main: dict[str, str], tmp_path: Path) -> None:
    files = {
        "outside": HOOKED.format("Outside", MADE, "pass"),
        "inside": HOOKED.format("Inside", "pass", MADE),
        "trainer": TRAINER,
        "pipeline": PIPELINE,
        **main,
    }
    assert codes_in_project(tmp_path, **files) == {"GPU201"}
    assert codes_in_project(tmp_path, **{**files, "outside": HOOKED.format("Outside", "pass", MADE)}) == set()


def test_one_place_that_two_programs_see_differently_is_reported_once(tmp_path: Path) -> None:
    steps = "def run(strategy, step, x):\n    return strategy.experimental_run_v2(step, args=(x,))\n# tensorflow\n"
    main = "import tensorflow as tf\nfrom steps import run\nrun(tf.distribute.MirroredStrategy(), abs, tf.zeros(4))\n"
    found = findings_in_project(tmp_path, steps=steps, main=main)
    assert [one.span.row for one in found if one.code == "GPU901"] == [2]


REGISTRY = """
    class Registry:
        def __init__(self):
            self._table = {}

        def register(self, name):
            def keep(made):
                self._table[name] = made
                return made

            return keep

        def build(self, kind, **options):
            return self._table[kind](**options)


    MODELS = Registry()
"""
NETWORK = """
    import keras
    from registry import MODELS


    @MODELS.register("small")
    def small(units):
        inputs = keras.Input((4,))
        return keras.Model(inputs, keras.layers.Dense(units)(inputs))
"""
BUILDS = """
    import tensorflow as tf
    {}
    from registry import MODELS

    strategy = tf.distribute.MirroredStrategy()
    model = MODELS.build("small", units=1)
    with strategy.scope():
        model.compile("sgd", "mse")
    model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)), batch_size=8 * strategy.num_replicas_in_sync)
"""


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ("import networks", {"GPU201"}),
        ("import importlib\n    importlib.import_module('networks')", {"GPU201"}),
        (
            "import importlib\n    for name in ('net', 'side'):\n        importlib.import_module(f'{name}works')",
            {"GPU201"},
        ),
        ("", set()),
    ],
    ids=["imported", "imported by name", "imported by names in a loop", "never imported"],
)
def test_a_registry_that_another_file_fills(imports: str, expected: set[str], tmp_path: Path) -> None:
    files = {"registry": REGISTRY, "networks": NETWORK, "sideworks": "", "main": BUILDS.format(imports)}
    assert codes_in_project(tmp_path, **files) == expected


LOOP = """
    class Engine:
        def prepare(self):
            return self.update

        def fit(self, dataset):
            update = self.prepare()
            for batch in dataset:
                update(batch)
"""
TASK = """
    import tensorflow as tf
    from engine import Engine


    class Task(Engine):
        def __init__(self):
            self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            self.optimizer = tf.keras.optimizers.Adam()

        {}
        def update(self, batch):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.model(batch) ** 2)
            weights = self.model.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
"""


@pytest.mark.parametrize(("decorator", "expected"), [("", {"GPU508"}), ("@tf.function", set())])
def test_a_step_that_the_loop_of_a_base_runs(decorator: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in_project(tmp_path, engine=LOOP, task=TASK.format(decorator)) == expected


RATES = """
    import tensorflow as tf


    class Trainer:
        def __init__(self):
            self.model = None

        def build(self):
            self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            self.model.compile("sgd", "mse")

        def samples(self):
            def one():
                for number in range(100_000):
                    yield [float(number)], [float(number % 7)]

            spec = tf.TensorSpec((1,))
            return tf.data.Dataset.from_generator(one, output_signature=(spec, spec)).batch(32)

        def train(self):
            self.model.fit(self.samples())

        def rate(self):
            for batch in self.samples():
                self.model.predict(batch)
"""
SHOWS = """
    from trainer import Trainer


    class Report:
        def __init__(self, trainer: Trainer):
            self.trainer = trainer

        def shown(self):
            return self.count()

        def count(self):
            {}
"""


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("return 0", {"GPU404", "GPU503"}),
        ("return len(list(self.trainer.samples()))", {"GPU404", "GPU503"}),
        ("return self.trainer.rate()", {"GPU404", "GPU503"}),
    ],
    ids=["nobody", "for its data alone", "with a model that nobody knows"],
)
def test_callers_who_know_less_take_nothing_back(use: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in_project(tmp_path, trainer=RATES, report=SHOWS.format(use)) == expected


@pytest.mark.parametrize(
    ("asked", "there", "imports"),
    [
        ("from parts.losses import squared", "def squared(x):\n    return x * x\n", True),
        ("from parts.losses import squared", "def cubed(x):\n    return x * x * x\n", False),
        ("from parts.losses import squared", "def cubed(x):\n    return x * squared(x)\n", False),
        ("from parts.losses import squared", "from parts.other import *\n", True),
        ("from parts.losses import squared", "def __getattr__(name):\n    return abs\n", True),
        ("from parts import losses", "", True),
        (
            "try:\n    from parts.losses import squared\nexcept ImportError:\n    squared = abs",
            "def cubed(x):\n    return x * x * x\n",
            True,
        ),
        ("from parts.more import squared", "def cubed(x):\n    return x * x * x\n", True),
    ],
)
def test_an_import_that_fails_is_noted_and_hides_nothing(asked: str, there: str, imports: bool, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "__init__.py").write_text("")
    (parts / "losses.py").write_text(there)
    (tmp_path / "train.py").write_text(f"import tensorflow as tf\n{asked}\n\n{_STEPS}")
    found = findings_of(gpulint.check_paths([tmp_path / "train.py"]))
    assert {finding.code for finding in found} == ({"GPU508"} if imports else {"GPU006", "GPU508"})


_STEPS = """
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
for x in tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(64):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("package", "expected"),
    [
        ("from .Net import Net\n", {"GPU508"}),
        ("from models.Net import Net\n", {"GPU508"}),
        ("from . import Net\n", set()),
        ("from models import Net\n", set()),
        ("", set()),
    ],
)
def test_a_class_that_is_called_as_the_module_it_is_in(package: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").write_text(package)
    (tmp_path / "models" / "Net.py").write_text(
        """
import tensorflow as tf


class Net:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.optimizer = tf.keras.optimizers.Adam()

    def train(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.net(x) ** 2)
        gradients = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.net.trainable_variables))
"""
    )
    (tmp_path / "train.py").write_text(
        """
import tensorflow as tf

from models import Net

net = Net()
for x in tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64):
    net.train(x)
"""
    )
    found = findings_of(gpulint.check_paths([tmp_path / "train.py", tmp_path / "models"]))
    assert {finding.code for finding in found} == expected


@pytest.mark.parametrize(
    ("imported", "loader"),
    [
        ("import data.loader", "data.loader"),
        ("import data.more.loader", "data.more.loader"),
        ("import data.loader as given", "given"),
        ("import data.other, data.loader", "data.loader"),
    ],
)
@pytest.mark.parametrize("is_package", [False, True])
def test_modules_in_a_folder_that_is_no_package(imported: str, loader: str, is_package: bool, tmp_path: Path) -> None:
    for folder in (tmp_path / "data", tmp_path / "data" / "more"):
        folder.mkdir()
        if is_package:
            (folder / "__init__.py").touch()
        (folder / "other.py").touch()
        (folder / "loader.py").write_text(
            """
import tensorflow as tf


class Digits:
    def __init__(self):
        self.strategy = tf.distribute.MirroredStrategy()
"""
        )
    (tmp_path / "train.py").write_text(
        f"""
import tensorflow as tf
{imported}

digits = getattr({loader}, "Digits")()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
with digits.strategy.scope():
    optimizer = tf.keras.optimizers.Adam()
    model.compile(optimizer, "mse")
model.fit(tf.zeros((640, 4)), tf.zeros((640, 1)), batch_size=64 * digits.strategy.num_replicas_in_sync)
"""
    )
    found = findings_of(gpulint.check_paths([tmp_path / "train.py"]))
    assert [finding.code for finding in found] == ["GPU201"]


WORKERS = """
    import tensorflow as tf


    def main():
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
            model.compile(optimizer="adam", loss="mse")
        model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)), batch_size=32 * strategy.num_replicas_in_sync)
"""

PLAIN = "from training import main\n\nmain()\n"
SETS = "import json, os\nfrom training import main\n\nos.environ['TF_CONFIG'] = json.dumps({'cluster': {}})\nmain()\n"
SETS_FOR_ITSELF = """
    import json, os
    import tensorflow as tf

    os.environ["TF_CONFIG"] = json.dumps({"cluster": {}})
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
"""


@pytest.mark.parametrize(
    ("files", "codes"),
    [
        ({"alone": PLAIN}, {"GPU701"}),
        ({"alone": PLAIN, "again": PLAIN}, {"GPU701"}),
        ({"alone": PLAIN, "worker": SETS}, set()),
        ({"a_worker": SETS, "bare": PLAIN}, set()),
        ({"alone": PLAIN, "other": SETS_FOR_ITSELF}, {"GPU701"}),
    ],
)
def test_a_cluster_that_one_launcher_sets_is_there_for_what_others_launch(
    files: dict[str, str], codes: set[str], tmp_path: Path
) -> None:
    found = codes_in_project(tmp_path, training=WORKERS, **files)
    assert found & {"GPU701"} == codes
