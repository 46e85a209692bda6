"""Cures that repeat names of the program: its strategy, model, input and data, and operations for what NumPy does."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import pytest

from gpulint.knowledge import operations
from tests.checking import findings_in, only_finding

HEAD = """
import random
import numpy as np
import tensorflow as tf

net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(4)])
optimizer = tf.keras.optimizers.SGD()
data = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64)


@tf.function
def step(x, scale=1.0):
    with tf.GradientTape() as tape:
        y = net(x)
        loss = tf.reduce_mean(y**2) * scale
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return y


"""

IN_LOOP = HEAD + "for x in data:\n    y = step(x)\n    {line}\n"


def _cure(code: str, program: str, directory: Path) -> str:
    return only_finding(code, program, directory).instead


@pytest.mark.parametrize(
    ("line", "cure"),
    [
        ("z = tf.equal(tf.argmax(y, -1).numpy(), 0)", "pass the tensor itself, without `.numpy()`"),
        ("z = tf.constant(np.clip(y.numpy(), 0.0, 1.0))", "keep it a tensor: use `tf.clip_by_value` instead of NumPy"),
        (
            "z = tf.constant(np.exp(np.mean(y, axis=0)))",
            "keep it a tensor: use `tf.exp` and `tf.reduce_mean` instead of NumPy",
        ),
        ("z = tf.constant(np.median(y.numpy(), axis=0))", "process it with TensorFlow operations"),
        ("z = tf.constant(y.numpy() * 2)", "process it with TensorFlow operations"),
    ],
)
def test_a_round_trip_is_cured_by_what_numpy_does(line: str, cure: str, tmp_path: Path) -> None:
    assert _cure("GPU502", IN_LOOP.format(line=line), tmp_path).startswith(cure)


@pytest.mark.parametrize(
    ("line", "cure"),
    [
        ("kept.append(float(tf.reduce_sum(y)))", "append the tensor (`kept.append(tf.reduce_sum(y))`)"),
        ("kept.append(y.numpy())", "read it every hundred steps"),
        ("kept.append(np.linalg.norm(y))", "use `tf.norm`, and convert the result to NumPy only"),
    ],
)
def test_numbers_in_a_list_are_converted_after_the_loop(line: str, cure: str, tmp_path: Path) -> None:
    assert _cure("GPU501", IN_LOOP.format(line=line).replace("for x", "kept = []\nfor x"), tmp_path).startswith(cure)


@pytest.mark.parametrize(
    ("drawn", "cure"),
    [
        ("np.random.normal()", "use `tf.random.normal`, which draws in every call"),
        ("np.random.randint(4)", "use `tf.random.uniform(…, dtype=tf.int32)`, which draws in every call"),
        ("random.choice([1.0, 2.0])", "draw it in a function that `tf.numpy_function` calls"),
    ],
)
def test_random_numbers_of_a_map_are_drawn_by_an_operation(drawn: str, cure: str, tmp_path: Path) -> None:
    program = f"{HEAD}noisy = data.map(lambda x: x * {drawn})\nfor x in noisy:\n    step(x)\n"
    assert _cure("GPU510", program, tmp_path) == cure


@pytest.mark.parametrize(
    ("call", "cure"),
    [
        ("net.predict(row[None])", "otherwise call `net.predict_on_batch(row[None])`"),
        ("net.predict(x=row[None], verbose=0)", "otherwise call `net.predict_on_batch(row[None])`"),
        ("net.evaluate(row[None], row[None])", "otherwise call `net.test_on_batch(row[None], …)`"),
        ("net.fit(row[None], row[None])", "call `net.train_on_batch(x, y)`, with many samples at a time"),
        (
            "net.predict(np.reshape(np.asarray(row, dtype='float32'), (1, row.shape[0])))",
            "otherwise call `net.predict_on_batch(x)`",
        ),
    ],
)
def test_a_call_for_each_sample_is_cured_with_its_names(call: str, cure: str, tmp_path: Path) -> None:
    program = f"{HEAD}net.compile('sgd', 'mse')\nfor row in np.zeros((1000, 4)):\n    {call}\n"
    assert _cure("GPU503", program, tmp_path).endswith(cure)


@pytest.mark.parametrize(
    ("line", "cure"),
    [
        (
            "kept.append(net(x).numpy())",
            "create `compiled = tf.function(net)` once, and call `compiled` in the loop (add",
        ),
        (
            "kept.append(net(one, training=True).numpy())",
            "repeat the input along the batch axis and call the model once",
        ),
        ("one = net(one, training=True).numpy()", "create `compiled = tf.function(net)` once"),
    ],
)
def test_a_model_in_a_loop_is_compiled_by_name(line: str, cure: str, tmp_path: Path) -> None:
    program = f"{HEAD}kept, one = [], np.zeros((1, 4), 'float32')\nfor x in data:\n    {line}\n"
    assert _cure("GPU509", program, tmp_path).startswith(cure)


@pytest.mark.parametrize(
    ("number", "message", "loop"),
    [
        ("i", "in every iteration: `i` is a new Python number each time", "for i in range(500)"),
        ("epoch", "in every iteration of an outer loop: `epoch` is a new Python number each time", "for epoch in"),
        ("epoch + i", "in every iteration: it gets a new Python number each time", "for i in range(500)"),
    ],
)
def test_a_retrace_names_the_loop_in_which_the_number_changes(
    number: str, message: str, loop: str, tmp_path: Path
) -> None:
    program = f"{HEAD}for epoch in range(100):\n    for i in range(500):\n        step(tf.zeros((8, 4)), {number})\n"
    found = only_finding("GPU504", program, tmp_path)
    assert found.message == f"`tf.function` retraces {message}"
    row = next(one.span.row for one in found.related if one.message == "in this loop")
    assert program.splitlines()[row - 1].strip().startswith(loop)


def test_a_retrace_in_each_of_a_few_epochs_is_not_reported(tmp_path: Path) -> None:
    program = f"{HEAD}for epoch in range(5):\n    for i in range(500):\n        step(tf.zeros((8, 4)), epoch)\n"
    assert not [one for one in findings_in(program, tmp_path) if one.code == "GPU504"]


STRATEGY = "mirrored = tf.distribute.MirroredStrategy()\n"

MODEL = "model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])\n"


@pytest.mark.parametrize(
    ("code", "program", "cure"),
    [
        (
            "GPU201",
            STRATEGY + MODEL + "with mirrored.scope():\n    model.compile('sgd', 'mse')\nmodel.fit(load())\n",
            "create it inside `with mirrored.scope():`",
        ),
        (
            "GPU202",
            f"{STRATEGY}with mirrored.scope():\n    {MODEL}model.compile('sgd', 'mse')\nmodel.fit(load())\n",
            "call `compile` inside `with mirrored.scope():`",
        ),
        (
            "GPU203",
            f"{STRATEGY}mirrored.scope()\n{MODEL}model.compile('sgd', 'mse')\nmodel.fit(load())\n",
            "write `with mirrored.scope():`, and indent the code below",
        ),
        (
            "GPU209",
            "BATCH = 32\n" + STRATEGY + "def batches(size):\n    return data.unbatch().batch(size)\n\n"
            f"with mirrored.scope():\n    {MODEL}    model.compile('sgd', 'mse')\nmodel.fit(batches(BATCH))\n",
            "pass `BATCH * mirrored.num_replicas_in_sync`; you may also need to raise the learning rate",
        ),
        (
            "GPU209",
            f"rows = data.unbatch().batch(32)\n{STRATEGY}with mirrored.scope():\n    {MODEL}"
            "    model.compile('sgd', 'mse')\nmodel.fit(rows)\n",
            "create the strategy first and pass `32 * mirrored.num_replicas_in_sync`; you may also need to raise the "
            "learning rate",
        ),
    ],
)
def test_a_strategy_is_called_by_its_name(code: str, program: str, cure: str, tmp_path: Path) -> None:
    assert _cure(code, HEAD + program, tmp_path) == cure


@pytest.mark.parametrize(
    ("source", "name"),
    [("data", "data"), ("data.shuffle(8)", "data.shuffle(8)"), ("enumerate(data)", "dataset")],
)
def test_the_batches_of_a_loop_are_distributed_by_name(source: str, name: str, tmp_path: Path) -> None:
    program = (
        f"{STRATEGY}with mirrored.scope():\n    {MODEL}    sgd = tf.keras.optimizers.SGD()\n\n"
        "def replica(x):\n    with tf.GradientTape() as tape:\n"
        "        loss = tf.nn.compute_average_loss(model(x), global_batch_size=64)\n"
        "    sgd.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n\n"
        "@tf.function\ndef train(x):\n    mirrored.run(replica, args=(x,))\n\n"
        f"for {'i, ' if name == 'dataset' else ''}x in {source}:\n    train(x)\n"
    )
    cure = _cure("GPU205", HEAD + program, tmp_path)
    assert cure == f"iterate over `mirrored.experimental_distribute_dataset({name})`"


@pytest.mark.tensorflow
def test_each_operation_is_one_of_tensorflow() -> None:
    import tensorflow as tf

    names = [operations.operation(name) for name in operations.OPERATIONS]
    names += [operations.random_operation(name) for name in operations.RANDOM_OPERATIONS]
    for name in names:
        assert name is not None
        assert callable(reduce(getattr, name.partition("(")[0].split(".")[1:], tf))
