"""Programs that run until their step has been traced, on the installed TensorFlow."""

from __future__ import annotations

import os
import pickle
import sys
import textwrap
from importlib.metadata import version
from pathlib import Path

import pytest

from gpulint.estimate.memory.liveness import play
from gpulint.estimate.tracing import NotTraced, Traced
from gpulint.probe.launch.command import Target
from tests import warm

pytestmark = pytest.mark.tensorflow

MODEL = """
import os
import numpy as np
import tensorflow as tf
import keras
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, name="hidden"), keras.layers.Dense(2)])
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
"""

FIT = f"""{MODEL}
model.compile("adam", loss_of)
model.fit(np.zeros((64, 8), "float32"), np.zeros(64, "int32"), batch_size=16, verbose=0)
open(os.environ["TRAINED"], "w").close()
"""

TRACE = """
import pickle, sys
from gpulint.estimate.tracing import trace

answer, target, options = pickle.loads(bytes.fromhex(sys.argv[1]))
with open(answer, "wb") as file:
    pickle.dump(trace(target, **options), file)
"""


IS_KERAS_3_3 = version("keras").startswith("3.3.")


def layer(name: str, model: str = "sequential") -> str:
    """The path of a layer, in which Keras 3.3 does not name the model."""
    return name if IS_KERAS_3_3 else f"{model}/{name}"


def run(directory: Path, program: str, **options: object) -> Traced | NotTraced:
    path = directory / "train.py"
    path.write_text(textwrap.dedent(program), encoding="utf-8")
    answer = directory / "answer"
    given = pickle.dumps((str(answer), Target(str(path)), options)).hex()
    done = warm.python().run([sys.executable, "-c", TRACE, given], cwd=directory)
    assert done.returncode == 0, done.stderr
    found: Traced | NotTraced = pickle.loads(answer.read_bytes())
    answer.unlink()
    return found


@pytest.fixture(autouse=True)
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that a program writes after it has trained."""
    path = tmp_path / "trained"
    monkeypatch.setenv("TRAINED", str(path))
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")
    return path


def test_fit_is_traced_and_stopped_before_it_trains(tmp_path: Path, trained: Path) -> None:
    result = run(tmp_path, FIT)
    assert isinstance(result, Traced)
    assert result.doubled is not None
    step = result.step
    assert not trained.exists()
    assert (step.name, step.filename, step.row) == ("fit", str(tmp_path / "train.py"), 10)
    assert (step.batch, result.doubled.batch, step.replicas) == (16, 32, 1)
    assert step.is_compiled and step.is_optimized and not step.unknown
    groups = {(one.name.rpartition("/")[2], one.group) for one in step.variables if one.tensor.shape == (8, 4)}
    assert ("kernel", "weights") in groups
    assert sum(one.group == "slots" and one.tensor.shape == (8, 4) for one in step.variables) == 2
    assert {one.layer for one in step.variables if one.name.endswith("hidden/kernel")} == {layer("hidden")}
    assert {one.tensor.shape for one in step.arguments} == {(16, 8), (16,)}
    products = [one for one in step.body.operations if one.type == "MatMul"]
    assert {one.outputs[0].shape for one in products} == {(16, 4), (16, 2), (8, 4), (4, 2)}
    assert any(one.is_gradient and one.layer == layer("hidden") for one in products)


def test_a_loop_of_ones_own_is_traced(tmp_path: Path, trained: Path) -> None:
    result = run(
        tmp_path,
        f"""{MODEL}
optimizer = keras.optimizers.SGD(momentum=0.9)

@tf.function(jit_compile=True)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    average.assign(0.9 * average + 0.1 * model.trainable_variables[0])
    return loss

other = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
other_optimizer = keras.optimizers.Adam()
average = tf.Variable(tf.zeros((8, 4)))

@tf.function
def other_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(other(x, training=True))
    other_optimizer.apply_gradients(zip(tape.gradient(loss, other.trainable_variables), other.trainable_variables))

for x, y in tf.data.Dataset.from_tensor_slices((np.zeros((64, 8), "float32"), np.zeros(64))).batch(32):
    step(x, y)
    other_step(x)
open(os.environ["TRAINED"], "w").close()
""",
    )
    assert isinstance(result, Traced)
    assert not trained.exists()
    assert (result.step.name, result.step.row, result.step.batch) == ("step", 11, 32)
    assert {one.tensor.shape for one in result.step.arguments} == {(32, 8), (32,)}
    assert result.step.is_compiled
    assert [(name, where.row) for name, where in result.others] == [("other_step", 23)]
    slots = [one.tensor.shape for one in result.step.variables if one.group == "slots"]
    assert (slots.count((8, 4)), slots.count((8, 3))) == (1, 2)  # those of the other step's optimizer, too
    trained = [one.tensor.shape for one in result.step.variables if one.is_trainable]
    assert trained == [(8, 4), (4,), (4, 2), (2,)]  # not what is averaged, nor what the other step trains


def test_a_step_in_which_variables_are_created_is_traced_once(tmp_path: Path) -> None:
    program = f"""{MODEL}
model = keras.Sequential([keras.layers.Dense(2)])
optimizer = keras.optimizers.Adam()

@tf.function
def step(x, y):
    with open("traces", "a") as file:
        file.write("x")
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

step(tf.zeros((16, 8)), tf.zeros((16,), tf.int32))
"""
    result = run(tmp_path, program)
    assert isinstance(result, Traced)
    groups = [one.group for one in result.step.variables]
    assert groups.count("weights") == 2
    assert groups.count("slots") == 2 + 2 * 2  # with the optimizer's step and learning rate
    assert (tmp_path / "traces").read_text() == ("xx" if IS_KERAS_3_3 else "x")  # which creates them inside


@pytest.mark.skipif(IS_KERAS_3_3, reason="its several steps are no loop")
def test_one_of_several_steps_of_a_call_for_a_batch_that_is_set(tmp_path: Path) -> None:
    result = run(tmp_path, FIT.replace('"adam", loss_of', '"adam", loss_of, steps_per_execution=4'), batch=5)
    assert isinstance(result, Traced)
    step = result.step
    assert (step.batch, step.is_in_loop) == (5, True)
    assert {one.tensor.shape for one in step.arguments} == {(5, 8), (5,)}
    products = [one for one in step.body.operations if one.type == "MatMul"]
    assert {one.outputs[0].shape for one in products} == {(5, 4), (5, 2), (8, 4), (4, 2)}
    assert {one.layer for one in products} == {"sequential/hidden", "sequential/dense"}


def test_each_replica_has_its_own_operations_and_variables(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        f"""{MODEL}
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(2)])
    model.compile("adam", loss_of)
model.fit(np.zeros((64, 8), "float32"), np.zeros(64, "int32"), batch_size=32, verbose=0)
""",
        gpus=2,
    )
    assert isinstance(result, Traced)
    step = result.step
    assert (step.replicas, step.batch) == (2, 16)
    kernels = [one for one in step.variables if one.name.startswith("sequential_1") and one.tensor.shape == (8, 4)]
    assert {one.device for one in kernels} == {"GPU:0", "GPU:1"}
    products = [one for one in step.body.operations if one.type == "MatMul"]
    assert {one.device for one in products} == {"GPU:0", "GPU:1"}
    assert {(Path(one.filename).name, one.row) for one in products} == {("train.py", step.row)}


def test_a_function_that_creates_variables_within_the_step_is_the_trace_of_later_calls(tmp_path: Path) -> None:
    # TensorFlow 2.16 runs this program, later releases only trace it.
    result = run(
        tmp_path,
        f"""{MODEL}
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(2)])
    optimizer = keras.optimizers.SGD(momentum=0.9)

@tf.function
def replica(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(loss_of(y, model(x, training=True)))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

@tf.function
def step(x, y):
    return strategy.run(replica, args=(x, y))

data = tf.data.Dataset.from_tensor_slices((np.zeros((64, 8), "float32"), np.zeros(64, "int32"))).batch(32)
for x, y in strategy.experimental_distribute_dataset(data):
    step(x, y)
""",
        gpus=2,
    )
    assert isinstance(result, Traced)
    products = [one for one in result.step.body.operations if one.type == "MatMul"]
    assert [sum(one.device == device for one in products) for device in ("GPU:0", "GPU:1")] == [5, 5]


def test_gradients_are_applied_where_a_condition_asks_whether_they_are_finite(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        f"""{MODEL}
optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())
accumulated = [tf.Variable(tf.zeros(one.shape)) for one in model.trainable_variables]
steps = tf.Variable(0)

def apply():
    for one, weight in zip(accumulated, model.trainable_variables):
        weight.assign_sub(one)
    return True

@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = optimizer.scale_loss(loss_of(y, model(x, training=True)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    steps.assign_add(1)
    tf.cond(steps % 4 == 0, apply, lambda: False)
    return loss

step(np.zeros((16, 8), "float32"), np.zeros(16, "int32"))
""",
    )
    assert isinstance(found, Traced)
    weights = {one.parameter for one in found.step.variables if one.is_trainable}
    entered = {number: index for index, number in enumerate(found.step.body.parameters)}
    updates = [one for one in found.step.body.operations if one.type == "AssignSubVariableOp"]
    assert weights <= {entered[one.inputs[0].operation] for one in updates}
    conditions = [one for one in found.step.body.operations if one.type in ("If", "StatelessIf")]
    assigned = [
        sum(inner.type == "AssignVariableOp" for called in found.step.called(one) for inner in called.operations)
        for one in conditions
    ]
    assert len(weights) in assigned  # by the condition that holds now and then
    assert found.doubled is not None


def test_functions_of_python_in_a_step_name_no_device(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        """
import tensorflow as tf

weight = tf.Variable(tf.zeros((8, 4)))

@tf.function
def step(x):
    x = tf.ensure_shape(tf.numpy_function(lambda one: one, [x], tf.float32), (16, 8))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x @ weight)
    weight.assign_sub(tape.gradient(loss, weight))

step(tf.zeros((16, 8)))
""",
    )
    assert isinstance(result, Traced)
    assert {one.device for one in result.step.body.operations if one.type == "PyFunc"} == {"CPU:0"}


def test_an_eager_step_is_traced_for_the_program(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        f"""{MODEL}
optimizer = keras.optimizers.Adam()
states, losses = np.zeros((64, 8), "float32"), []

for start in range(0, 64, 16):
    classes = np.zeros(16)
    with tf.GradientTape() as tape:
        loss = loss_of(classes, model(states[start : start + 16], training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    losses.append(float(loss))
""",
    )
    assert isinstance(result, Traced)
    assert result.is_eager and result.doubled is not None
    assert (result.step.name, result.step.row) == ("<module>", 14)
    assert (result.step.batch, result.doubled.batch) == (16, 32)
    assert {one.tensor.shape for one in result.step.arguments} == {(16, 8), (16,)}
    assert sum(one.group == "slots" and one.tensor.shape == (8, 4) for one in result.step.variables) == 2
    products = [one for one in result.step.body.operations if one.type == "MatMul"]
    assert {one.row for one in products} == {15}


def test_an_eager_step_without_data_cannot_be_traced(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        f"""{MODEL}
with tf.GradientTape() as tape:
    loss = loss_of(tf.zeros(16), model(tf.zeros((16, 8))))
tape.gradient(loss, model.trainable_variables)
""",
    )
    assert isinstance(result, NotTraced)
    assert (result.reason, result.where and result.where.row) == ("eager", 11)


def test_a_program_that_dies_says_where(tmp_path: Path) -> None:
    result = run(tmp_path, f"{MODEL}\nopen('/does/not/exist')\n")
    assert isinstance(result, NotTraced)
    assert (result.reason, result.status, result.where and result.where.row) == ("died", 1, 9)
    assert "/does/not/exist" in result.message


def test_a_program_that_never_trains(tmp_path: Path) -> None:
    result = run(tmp_path, f"{MODEL}\nmodel.predict(np.zeros((4, 8)), verbose=0)\n")
    assert result == NotTraced("no step", status=0)


def test_a_step_on_all_of_the_data_has_no_batch(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        """
        import tensorflow as tf
        nodes, edges = tf.random.normal((50, 8)), tf.random.uniform((200,), 0, 50, tf.int32)
        weight = tf.Variable(tf.random.normal((8, 4)))

        @tf.function
        def step():
            with tf.GradientTape() as tape:
                summed = tf.math.unsorted_segment_sum(tf.gather(nodes @ weight, edges), edges, 50)
                loss = tf.reduce_mean(summed**2)
            weight.assign_sub(tape.gradient(loss, weight))

        step()
        """,
    )
    assert isinstance(result, Traced)
    assert (result.step.batch, result.doubled, result.step.has_unknown) == (None, None, False)
    assert {one.tensor.shape for one in result.step.variables} >= {(8, 4), (50, 8)}
    assert play(result.step).peak > 50 * 8 * 4 + 8 * 4 * 4


def test_a_dimension_that_stays_open_is_unknown_until_it_is_given(tmp_path: Path) -> None:
    program = f"""{MODEL}
words = keras.Input((None, 8), name="words")
model = keras.Sequential([words, keras.layers.Dense(2), keras.layers.GlobalAveragePooling1D()])
model.compile("sgd", loss_of)
data = tf.data.Dataset.from_generator(
    lambda: ((dict(words=np.zeros((4, 8))), 0) for _ in range(64)),
    output_signature=(dict(words=tf.TensorSpec((None, 8))), tf.TensorSpec((), tf.int32)),
).padded_batch(16)
model.fit(data, verbose=0)
"""
    result = run(tmp_path, program)
    assert isinstance(result, Traced)
    assert result.step.batch == 16
    assert result.step.unknown == ("words[1]",)
    result = run(tmp_path, program, shapes={"words": (None, 20, 8)})
    assert isinstance(result, Traced)
    assert result.step.unknown == ()
    result = run(tmp_path, program, shapes={"0": (None, 20, 8)})
    assert isinstance(result, NotTraced)
    assert result.message.endswith("--shape names 0, but its tensors are words, 1")


def test_the_values_of_a_ragged_argument_are_no_batch(tmp_path: Path) -> None:
    program = """
import tensorflow as tf
table = tf.Variable(tf.zeros((50, 4)))
@tf.function
def step(words, labels):
    with tf.GradientTape() as tape:
        rows = tf.gather(table, words.flat_values)
        loss = tf.reduce_sum(tf.math.segment_sum(rows, words.value_rowids())) + tf.reduce_sum(labels)
    table.assign_sub(tape.gradient(loss, table))
step(tf.ragged.constant([[1, 2, 3], [4], [5, 6]]), tf.zeros(3))
"""
    result = run(tmp_path, program)
    assert isinstance(result, Traced)
    assert result.step.batch == 3
    assert [one.tensor.shape for one in result.step.arguments] == [(None,), (4,), (3,)]
    assert result.step.unknown == ()
    assert play(result.step).unknown


def test_nothing_of_an_estimate_is_left_behind(tmp_path: Path) -> None:
    run(tmp_path, FIT)
    assert os.listdir(tmp_path) == ["train.py"]


def test_a_dataset_is_iterated_inside_of_the_step(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        f"""{MODEL}
optimizer = keras.optimizers.SGD()
optimizer.build(model.trainable_variables)

@tf.function
def epoch(data):
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

epoch(tf.data.Dataset.from_tensor_slices((np.zeros((64, 8), "float32"), np.zeros(64))).batch(32))
""",
    )
    assert isinstance(result, Traced)
    assert (result.step.name, result.step.batch) == ("epoch", 32)
    assert result.doubled is not None
    assert result.step.is_in_loop
    for step, batch in ((result.step, 32), (result.doubled, 64)):
        products = [one for one in step.body.operations if one.type == "MatMul"]
        assert {one.outputs[0].shape for one in products} == {(batch, 4), (batch, 2), (8, 4), (4, 2)}
        assert {one.row for one in products if not one.is_gradient} == {16}
        assert not any(one.type == "ScanDataset" for one in step.body.operations)
    assert not result.step.has_unknown


def test_loops_have_shapes_inside_and_their_lists_too(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        f"""{MODEL}
model = keras.Sequential([keras.Input((6, 8)), keras.layers.LSTM(4, recurrent_dropout=0.1), keras.layers.Dense(2)])
optimizer = keras.optimizers.SGD()

@tf.function
def step(x, y):
    noise = tf.random.normal([int(x.shape[0]), 1, 1])  # needs the size of the batch
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x + noise, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

step(tf.zeros((16, 6, 8)), tf.zeros(16))
""",
    )
    assert isinstance(result, Traced)
    assert result.doubled is not None
    assert {one.type for one in result.step.body.operations if one.calls} >= {"While"}
    assert not result.step.has_unknown
    assert not result.doubled.has_unknown
    small, large = play(result.step), play(result.doubled)
    assert not small.unknown
    assert not large.unknown
    assert small.peak < large.peak


def test_recurrent_layers_are_traced_for_cudnn(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        f"""{MODEL}
model = keras.Sequential([keras.Input((6, 8)), keras.layers.GRU(4), keras.layers.Dense(2)])
model.compile("adam", loss_of)
model.fit(np.zeros((64, 6, 8), "float32"), np.zeros(64, "int32"), batch_size=16, verbose=0)
""",
    )
    assert isinstance(result, Traced)
    kinds = {one.type: one for one in result.step.body.operations if one.type.startswith("Cudnn")}
    assert set(kinds) == {"CudnnRNNV3", "CudnnRNNBackpropV3"}
    assert kinds["CudnnRNNV3"].layer == layer("gru", "sequential_1")


def test_a_terminal_shows_what_is_done_now(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(WAITS, encoding="utf-8")
    done = warm.python().run([sys.executable, "-c", SHOWN], cwd=tmp_path)
    assert done.stdout.endswith("True Traced\n"), (done.stdout, done.stderr)


WAITS = """
import os
import time
import tensorflow as tf
weight = tf.Variable(1.0)
@tf.function
def train_step(x):
    while not os.path.exists("seen"):
        time.sleep(0.05)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(weight * x)
    weight.assign_sub(tape.gradient(loss, weight))
train_step(tf.ones(8))
"""

SHOWN = """
import os
import pty
import threading
from gpulint.estimate.tracing import trace
from gpulint.probe.launch.command import Target

os.environ["TERM"] = "xterm"
outer, inner = pty.openpty()
shown = b""

def look():
    global shown
    while b", tracing train_step" not in shown:
        shown += os.read(outer, 4096)
    open("seen", "w").close()

threading.Thread(target=look, daemon=True).start()
found = trace(Target("train.py"), terminal=inner, timeout=300)
print(b"gpulint: 0:" in shown, type(found).__name__)
"""


def test_a_loop_takes_its_sizes_from_a_list(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        f"""{MODEL}
inputs = keras.Input((4, 16, 16, 1))
outputs = keras.layers.ConvLSTM2D(8, 3, padding="same")(inputs)
model = keras.Model(inputs, outputs)
model.compile("sgd", "mse", jit_compile=False)
model.fit(np.zeros((8, 4, 16, 16, 1), "float32"), np.zeros((8, 16, 16, 8), "float32"), batch_size=4)
""",
    )
    assert isinstance(result, Traced)
    assert result.doubled is not None
    for step, batch in ((result.step, 4), (result.doubled, 8)):
        assert not play(step).unknown
        inside = [one for function in step.functions.values() for one in function.operations]
        gradients = [one.outputs[0].shape for one in inside if one.type == "Conv2DBackpropInput"]
        assert gradients and all(shape is not None and shape[0] == batch for shape in gradients)


def test_lines_of_replicas_are_those_of_the_program(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    weight = tf.Variable(tf.zeros((8, 4)))

@tf.function
def steps(x, count):
    def one(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(x @ weight)
        weight.assign_sub(tape.gradient(loss, weight))

    for _ in tf.range(count):
        strategy.run(one, (x,))

steps(tf.zeros((16, 8)), tf.constant(3))
""",
        gpus=2,
    )
    assert isinstance(result, Traced)
    functions = (result.step.body, *result.step.functions.values())
    products = [one for function in functions for one in function.operations if one.type == "MatMul"]
    assert {(Path(one.filename).name, one.row) for one in products} == {("train.py", 12)}
