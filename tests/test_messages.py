"""Texts of findings whose cure or reason depends on the case: each names that of its own."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import findings_in

RETRACED = """
@tf.function
def step(x, activation):
    return activation(x)


x = tf.zeros((8, 8))
for i in range(1000):
    {call}
"""

STRATEGIES = """
first = tf.distribute.MirroredStrategy()
second = tf.distribute.MirroredStrategy()
with first.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
with second.scope():
    {under_second}
with first.scope():
    {under_first}
"""

RECURRENT = "model = tf.keras.Sequential([tf.keras.layers.{layer}, tf.keras.layers.Dense(1)])"

PROFILED = """
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
{aid}
model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
"""


STEPS = """
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
done = tf.Variable(0, dtype=tf.int64)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for x in tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(64):
    loss = train_step(x)
    done.assign_add(1)
    {read}
"""


def _only(code: str, program: str, directory: Path) -> tuple[str, str, str]:
    """Message, reason and cure of the only finding of a rule in a program."""
    found = [one for one in findings_in(f"import tensorflow as tf\n{program}", directory) if one.code == code]
    assert len(found) == 1, found
    return found[0].message, found[0].why, found[0].instead


@pytest.mark.parametrize(
    ("call", "what", "cure"),
    [
        ("step(x, lambda y: y * 2)", "it gets a new lambda each time", "define the function that is passed once"),
        ("step(x + i, i)", "a Python number changes", "pass a tensor"),
    ],
)
def test_a_retrace_is_cured_by_what_changes(call: str, what: str, cure: str, tmp_path: Path) -> None:
    message, _, instead = _only("GPU504", RETRACED.format(call=call), tmp_path)
    assert message.endswith(what) and instead.startswith(cure)


@pytest.mark.parametrize(
    ("read", "cure"),
    [
        ("print(float(loss))", "read it every hundred steps"),
        ("if optimizer.iterations % 100 == 0: save()", "count the steps in Python"),
        ("if done >= 100: save()", "count the steps in Python"),
        ("print(int(done))", "count the steps in Python"),
        ("if loss >= 100: save()", "read it every hundred steps"),
    ],
)
def test_a_number_of_steps_is_counted_in_python(read: str, cure: str, tmp_path: Path) -> None:
    _, _, instead = _only("GPU501", STEPS.format(read=read), tmp_path)
    assert instead.startswith(cure)


def test_the_losses_of_an_evaluation_are_added_up(tmp_path: Path) -> None:
    read = "pass\nfor x in tf.data.Dataset.range(1000):\n    print(float(tf.reduce_mean(model(x))))"
    _, _, instead = _only("GPU501", STEPS.format(read=read), tmp_path)
    assert instead.startswith("add it up on the device")


@pytest.mark.parametrize("method", ["prefetch(1)", "shuffle(100)", "batch(8)"])
def test_a_discarded_transformation_is_assigned(method: str, tmp_path: Path) -> None:
    program = f"data = tf.data.Dataset.range(100)\ndata.{method}\nfor x in data:\n    print(x)\n"
    message, _, instead = _only("GPU409", program, tmp_path)
    name = method.partition("(")[0]
    assert f"`{name}`" in message and f"dataset.{name}(…)" in instead


@pytest.mark.parametrize(
    ("variable", "when", "cure"),
    [
        ("CUDA_VISIBLE_DEVICES", "first lists the devices", "or use `tf.config.set_visible_devices`"),
        ("TF_GPU_ALLOCATOR", "creates the GPU devices", "set it before the first TensorFlow call"),
    ],
)
def test_a_late_variable_has_its_own_moment(variable: str, when: str, cure: str, tmp_path: Path) -> None:
    program = f"import os\nx = tf.zeros(4)\nos.environ[{variable!r}] = 'cuda_malloc_async'\nprint(x)\n"
    _, why, instead = _only("GPU302", program, tmp_path)
    assert when in why and instead.endswith(cure)


@pytest.mark.parametrize(
    ("layer", "cure"),
    [
        ("LSTM(8, recurrent_dropout=0.2)", "use `dropout` instead"),
        ("LSTM(8, unroll=True)", "use `unroll=False`"),
        ("GRU(8, reset_after=False)", "use `reset_after=True`"),
        ("LSTM(8, activation='relu')", 'use `activation="tanh"`'),
        ("LSTM(8, recurrent_activation='relu')", 'use `recurrent_activation="sigmoid"`'),
        ("LSTM(8, use_bias=False)", "use `use_bias=True`"),
    ],
)
def test_a_layer_gets_its_kernel_back_by_the_argument_that_took_it(layer: str, cure: str, tmp_path: Path) -> None:
    _, _, instead = _only("GPU603", RECURRENT.format(layer=layer), tmp_path)
    assert instead.startswith(cure)


@pytest.mark.parametrize(
    ("aid", "why", "cure"),
    [
        ("tf.profiler.experimental.start('logs')", "keeps all events in host memory", "stop()` after some steps"),
        ("tf.debugging.set_log_device_placement(True)", "floods standard error", "behind a debug flag"),
        ("tf.debugging.enable_check_numerics()", "slows the run down", "behind a debug flag"),
    ],
)
def test_a_debugging_aid_has_its_own_cost(aid: str, why: str, cure: str, tmp_path: Path) -> None:
    _, reason, instead = _only("GPU506", PROFILED.format(aid=aid), tmp_path)
    assert why in reason and instead.endswith(cure)


@pytest.mark.parametrize(
    ("under_second", "under_first", "kind"),
    [
        ("model.compile('adam', 'mse')", "pass", "model"),
        ("optimizer = tf.keras.optimizers.Adam()", "model.compile(optimizer, 'mse')", "optimizer"),
        ("metric = tf.keras.metrics.Mean()", "model.compile('adam', 'mse', metrics=[metric])", "metric"),
    ],
)
def test_what_two_strategies_share_is_named(under_second: str, under_first: str, kind: str, tmp_path: Path) -> None:
    program = STRATEGIES.format(under_second=under_second, under_first=under_first)
    message, _, _ = _only("GPU210", program, tmp_path)
    assert message == f"{kind} is created under one strategy and used under another"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("tf.config.threading.set_inter_op_parallelism_threads(2)", "thread counts configured after"),
        ("tf.config.set_visible_devices([], 'GPU')", "visible devices configured after"),
    ],
)
def test_late_settings_are_called_by_their_names(call: str, message: str, tmp_path: Path) -> None:
    text, _, _ = _only("GPU301", textwrap.dedent(f"x = tf.zeros(4)\n{call}\nprint(x)\n"), tmp_path)
    assert text.startswith(message)
