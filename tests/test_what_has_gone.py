"""Names that are gone (GPU901), and objects, conditions and releases for which they are not."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import gpulint
from tests.checking import codes_in, codes_of, findings_in
from tests.fixing.fixing import fixed_text

VERSIONS = """
import tensorflow as tf
from packaging import version
from tensorflow import __version__ as present

generation = version.parse(present).major
IS_FIRST = generation == 1


def limit(fraction):
    if {test}:
        tf.Session(config=tf.ConfigProto())
    else:
        print(fraction)


limit(0.5)
"""


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("IS_FIRST", set()),
        ("generation == 1", set()),
        ("not generation != 1", set()),
        ("generation < 2", set()),
        ("generation != 1", {"GPU901"}),
        ("not IS_FIRST", {"GPU901"}),
        ("generation == 2", {"GPU901"}),
        ("generation >= 2", {"GPU901"}),
    ],
)
def test_the_generation_of_tensorflow(test: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(VERSIONS.format(test=test), tmp_path) == expected


FLAG = """
import keras
import private_optimizers as private


def is_private(optimizer: keras.optimizers.Optimizer) -> bool:
    return isinstance(optimizer, {cls})


class Trainer:
    def __init__(self, optimizer: keras.optimizers.Optimizer):
        self.optimizer = optimizer
        self.private = is_private(optimizer)

    def update(self, loss, weights, tape):
        if {test}:
            self.optimizer.minimize(loss, weights, tape=tape)
"""


@pytest.mark.parametrize(
    ("cls", "test", "expected"),
    [
        ("private.Adam", "self.private", set()),
        ("private.Adam", "not self.private", {"GPU901"}),
        ("private.Adam", "weights", {"GPU901"}),
        ("keras.optimizers.Adam", "self.private", {"GPU901"}),
    ],
)
def test_an_object_of_a_class_that_has_the_method(cls: str, test: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(FLAG.format(cls=cls, test=test), tmp_path) == expected


WRAPPED = """
import tensorflow as tf


class Stepper:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def minimize(self, loss, variables):
        print(loss, variables)


def stepper(given):
    if isinstance(given, {first}):
        return {made}
    if isinstance(given, Stepper):
        return given
    raise TypeError(given)


stepper({given}).minimize(1.0, [])
"""


@pytest.mark.parametrize(
    ("first", "made", "given", "expected"),
    [
        ("tf.keras.optimizers.Optimizer", "Stepper(given)", "tf.keras.optimizers.Adam(1e-3)", set()),
        ("(str, tf.keras.optimizers.Optimizer)", "Stepper(given)", "tf.keras.optimizers.Adam(1e-3)", set()),
        ("str", "Stepper(given)", "Stepper('adam')", set()),
        ("(str, tf.keras.optimizers.Adam)", "given", "tf.keras.optimizers.Adam(1e-3)", {"GPU901"}),
        ("tf.keras.optimizers.Optimizer", "given", "tf.keras.optimizers.Adam(1e-3)", {"GPU901"}),
    ],
)
def test_an_object_that_wraps_another(first: str, made: str, given: str, expected: set[str], tmp_path: Path) -> None:
    program = WRAPPED.format(first=first, made=made, given=given)
    assert codes_in(program, tmp_path) == expected


SLOTS = """
import tensorflow as tf


def summing(base):
    class Summing(base):
        def _create_slots(self, variables):
            for one in variables:
                self.add_slot(one, "sum")

    return Summing


Sums = summing({base})
Sums(learning_rate=0.1)._create_slots([tf.Variable(1.0)])
"""


@pytest.mark.parametrize(
    ("base", "expected"),
    [("tf.keras.optimizers.legacy.SGD", set()), ("tf.keras.optimizers.SGD", {"GPU901"})],
)
def test_slots_of_optimizers_of_two_kinds(base: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.gpulint]\ntarget-tensorflow = "2.15"\n', encoding="utf-8")
    (tmp_path / "program.py").write_text(SLOTS.format(base=base), encoding="utf-8")
    assert codes_of(gpulint.check_paths([tmp_path])) == expected


VARIABLES = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
optimizer = tf.keras.optimizers.Adam()
"""


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("tf.train.Checkpoint(state=optimizer.variables())", {"GPU901"}),
        ("print(len(model.optimizer.variables()))", {"GPU901"}),
        ("print(len(optimizer.variables))", set()),
        ("print(model.variables[0].numpy())", set()),
        ("print(callable(optimizer.variables) and optimizer.variables())", {"GPU901"}),
        ("if hasattr(tf, 'contrib'):\n    optimizer.variables()", set()),
        ("tf.keras.metrics.Mean().variables()", set()),
    ],
)
def test_a_property_that_was_a_method(use: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(VARIABLES + use, tmp_path) == expected


def test_parentheses_after_a_property_are_left_out(tmp_path: Path) -> None:
    program = VARIABLES + "state = [one.name for one in optimizer.variables()]\n"
    assert {finding.code for finding in findings_in(program, tmp_path)} == {"GPU901"}
    assert fixed_text(textwrap.dedent(program), tmp_path) == program.replace("variables()", "variables")


BEHIND = """
import horovod.keras
import horovod.tensorflow as hvd
import horovod.tensorflow.keras
import tensorflow as tf
from nets import network

model = network()
rate = tf.keras.optimizers.Adam(0.01)
{wrapped}
model.compile(optimizer=optimizer, loss="mse")
{use}
"""


@pytest.mark.parametrize(
    ("wrapped", "use", "expected"),
    [
        ("optimizer = rate", "hvd.broadcast_variables(model.optimizer.variables(), root_rank=0)", {"GPU901"}),
        ("optimizer = rate", "hvd.broadcast_variables(model.optimizer.variables, root_rank=0)", set()),
        ("optimizer = rate", "other = network(2)\nprint(other.optimizer.variables())", set()),
        ("optimizer = hvd.DistributedOptimizer(rate)", "print(optimizer.variables())", {"GPU901"}),
        ("optimizer = hvd.DistributedOptimizer(rate, op=hvd.Sum)", "print(model.optimizer.variables())", {"GPU901"}),
        ("optimizer = horovod.keras.DistributedOptimizer(rate)", "print(optimizer.variables())", {"GPU901"}),
        ("optimizer = horovod.tensorflow.keras.DistributedOptimizer(rate)", "print(optimizer.variables)", set()),
        (
            "optimizer = hvd.DistributedOptimizer(tf.keras.mixed_precision.LossScaleOptimizer(rate))",
            "print(optimizer.variables())",
            {"GPU901"},
        ),
        ("optimizer = hvd.DistributedOptimizer(network.optimizer())", "print(optimizer.variables())", set()),
        (
            "optimizer = hvd.DistributedOptimizer(tf.compat.v1.train.AdamOptimizer(0.01))",
            "print(optimizer.variables())",
            set(),
        ),
    ],
)
def test_the_optimizer_behind_others(wrapped: str, use: str, expected: set[str], tmp_path: Path) -> None:
    program = BEHIND.format(wrapped=wrapped, use=use)
    pin = "for gpu in tf.config.list_physical_devices('GPU')[hvd.local_rank() :][:1]:\n"
    pin += "    tf.config.set_visible_devices(gpu, 'GPU')\n"
    assert codes_in(program + pin, tmp_path) - {"GPU301"} == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("# the companion of tf_keras_rates.py", {"GPU901"}),
        ("import tf_keras", set()),
        ("# runs with `pip install tf_keras`", set()),
    ],
)
def test_a_program_on_keras_2_names_its_package(line: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(f"{VARIABLES}optimizer.variables()\n{line}\n", tmp_path) == expected


BESIDE = """
import tensorflow as tf
from tensorflow.python.keras import {names}
from tensorflow.python.keras.optimizer_v2 import adam


class Average({base}):
    pass


def show(given):
    given.fit_generator(iter([]))


{use}
"""


@pytest.mark.parametrize(
    ("base", "use", "expected"),
    [
        ("object", "tf.keras.metrics.Mean().reset_states()", {"GPU901"}),
        ("object", "metrics.Mean().reset_states()", set()),
        ("metrics.Mean", "Average().reset_states()", set()),
        ("tf.keras.metrics.Mean", "Average().reset_states()", {"GPU901"}),
        ("object", "adam.Adam(lr=0.1)", set()),
        ("object", "tf.keras.optimizers.Adam(lr=0.1)", {"GPU901"}),
        ("object", "print(adam.Adam().variables())", set()),
        ("object", "net = models.Sequential()\nnet.compile('sgd')\nprint(net.optimizer.variables())", set()),
        (
            "object",
            "net = tf.keras.Sequential()\nnet.compile('sgd')\nprint(net.optimizer.variables())",
            {"GPU901"},
        ),
        ("object", "models.Sequential().fit([1], workers=2)", set()),
        ("object", "tf.keras.Sequential().fit([1], workers=2)", {"GPU901"}),
        ("object", "models.Sequential().metrics[0].reset_states()", set()),
        ("models.Model", "Average().fit_generator(iter([]))", set()),
        ("tf.keras.Model", "Average().fit_generator(iter([]))", {"GPU901"}),
        ("object", "show(models.Sequential())", set()),
    ],
)
def test_only_what_comes_from_the_private_copy_of_keras_2_is_as_it_was(
    base: str, use: str, expected: set[str], tmp_path: Path
) -> None:
    program = BESIDE.format(names="metrics, models", base=base, use=use)
    assert codes_in(program, tmp_path) == expected


def test_a_name_of_the_private_copy_in_another_file_says_nothing_of_this_one(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(
        "import tensorflow as tf\nfrom tensorflow.python.keras import metrics\n\nsize = lambda x: tf.size(x)\n",
        encoding="utf-8",
    )
    program = "import tensorflow as tf\nfrom parts import size\n\nlast = tf.keras.metrics.Mean()\nlast.reset_states()\n"
    assert codes_in(program, tmp_path) == {"GPU901"}
