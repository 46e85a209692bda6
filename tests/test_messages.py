"""Texts of findings whose cure or reason depends on the case: each names that of its own."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import findings_in, only_finding

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


for x in tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64):
    loss = train_step(x)
    done.assign_add(1)
    {read}
"""


def _only(code: str, program: str, directory: Path) -> tuple[str, str, str]:
    """Message, reason and cure of the only finding of a rule in a program."""
    found = only_finding(code, f"import tensorflow as tf\n{program}", directory)
    return found.message, found.why, found.instead


@pytest.mark.parametrize(
    ("call", "what", "cure"),
    [
        ("step(x, lambda y: y * 2)", "it gets a new lambda each time", "define the argument once"),
        ("step(x + i, i)", "`i` is a new Python number each time", "pass a tensor: `tf.constant(i)`"),
        ("step(x + i, i * 2)", "it gets a new Python number each time", "pass the number as a tensor"),
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
        ("if loss >= 100: save()", "check it every hundred steps"),
    ],
)
def test_a_number_of_steps_is_counted_in_python(read: str, cure: str, tmp_path: Path) -> None:
    _, _, instead = _only("GPU501", STEPS.format(read=read), tmp_path)
    assert instead.startswith(cure)


def test_weights_are_no_metric(tmp_path: Path) -> None:
    program = (
        "class Watch(tf.keras.callbacks.Callback):\n    def on_train_batch_end(self, batch, logs=None):\n"
        "        self.model.get_weights()\n\n"
        "model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])\n"
        "model.compile('adam', 'mse')\nmodel.fit(tf.zeros((640, 4)), tf.zeros((640, 1)), callbacks=[Watch()])\n"
    )
    _, _, instead = _only("GPU501", program, tmp_path)
    assert instead == "read them every hundred steps or once per epoch"


def test_the_losses_of_an_evaluation_are_added_up(tmp_path: Path) -> None:
    read = "pass\nfor x in tf.data.Dataset.range(1000):\n    print(float(tf.reduce_mean(model(x))))"
    _, _, instead = _only("GPU501", STEPS.format(read=read), tmp_path)
    assert instead.startswith("add it up on the device")


@pytest.mark.parametrize("method", ["prefetch(1)", "shuffle(100)", "batch(8)"])
def test_a_discarded_transformation_is_assigned(method: str, tmp_path: Path) -> None:
    program = f"data = tf.data.Dataset.range(100)\ndata.{method}\nfor x in data:\n    print(x)\n"
    message, _, instead = _only("GPU409", program, tmp_path)
    name = method.partition("(")[0]
    assert f"`{name}`" in message and f"data = data.{method}" in instead


@pytest.mark.parametrize(
    ("before", "variable", "when", "cure"),
    [
        (
            "tf.config.list_physical_devices()",
            "CUDA_VISIBLE_DEVICES",
            "first looks for GPUs",
            "or use `tf.config.set_visible_devices`",
        ),
        ("tf.zeros(4)", "CUDA_VISIBLE_DEVICES", "first looks for GPUs", "before the first TensorFlow call"),
        ("tf.zeros(4)", "TF_GPU_ALLOCATOR", "creates the GPU devices", "before the first TensorFlow call"),
    ],
)
def test_a_late_variable_has_its_own_moment(before: str, variable: str, when: str, cure: str, tmp_path: Path) -> None:
    program = f"import os\nx = {before}\nos.environ[{variable!r}] = '1'\nprint(x)\n"
    _, why, instead = _only("GPU302", program, tmp_path)
    assert when in why and instead.endswith(cure)


@pytest.mark.parametrize(
    ("value", "cure"),
    [("0", 'write `"0"`, with quotes'), ("None", "to unset it, call `os.environ.pop('CUDA_VISIBLE_DEVICES', None)`")],
)
def test_none_is_no_string_to_quote(value: str, cure: str, tmp_path: Path) -> None:
    _, _, instead = _only(
        "GPU304", f"import os\nos.environ['CUDA_VISIBLE_DEVICES'] = {value}\nx = tf.zeros(4)\n", tmp_path
    )
    assert instead.startswith(cure)


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
        ("tf.profiler.experimental.start('logs')", "keeps every event in host memory", "stop()` after a few steps"),
        ("tf.debugging.set_log_device_placement(True)", "writes to standard error", "behind a debug flag"),
        ("tf.debugging.enable_check_numerics()", "output of every operation", "behind a debug flag"),
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
    assert message == f"the {kind} is created under one strategy and used under another"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("tf.config.threading.set_inter_op_parallelism_threads(2)", "thread counts are configured after"),
        ("tf.config.set_visible_devices([], 'GPU')", "visible devices are configured after"),
    ],
)
def test_late_settings_are_called_by_their_names(call: str, message: str, tmp_path: Path) -> None:
    text, _, _ = _only("GPU301", textwrap.dedent(f"x = tf.zeros(4)\n{call}\nprint(x)\n"), tmp_path)
    assert text.startswith(message)


@pytest.mark.parametrize(
    ("read", "cure"),
    [
        ("total += float(loss)", "add up tensors (`total += loss`), and convert `total` once, after the loop"),
        ("total += loss.numpy()", "add up tensors (`total += loss`), and convert `total` once, after the loop"),
        ("total += 64 * float(loss)", "add up tensors, and convert `total` once, after the loop"),
        ("total = float(loss)", "read it every hundred steps"),
    ],
)
def test_a_sum_on_the_host_is_cured_by_a_sum_of_tensors(read: str, cure: str, tmp_path: Path) -> None:
    _, _, instead = _only("GPU501", f"total = 0\n{STEPS.format(read=read)}", tmp_path)
    assert instead.startswith(cure)


@pytest.mark.parametrize(
    ("before", "named", "cure"),
    [
        ("os.environ['CUDA_VISIBLE_DEVICES'] = '2'", "tf.device('/gpu:2')", "use `/gpu:0`: visible GPUs"),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = '2,3'", "tf.device('/gpu:2')", "use `/gpu:0` or `/gpu:1`"),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = '2,3,4'", "tf.device('/gpu:4')", "use `/gpu:0` to `/gpu:2`"),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = '-1'", "tf.device('/gpu:0')", "make a GPU visible"),
    ],
)
def test_a_missing_gpu_is_replaced_by_one_that_is_there(before: str, named: str, cure: str, tmp_path: Path) -> None:
    program = f"import os\n{before}\nwith {named}:\n    x = tf.zeros(4)\n"
    found = [one for one in findings_in(f"import tensorflow as tf\n{program}", tmp_path) if one.code == "GPU107"]
    assert [one.instead.startswith(cure) for one in found] == [True]
    assert [one.span.row for one in found[0].related] == [3]


SUMMED = """
strategy = tf.distribute.MirroredStrategy()
seen = {made}


def step(x):
    seen.{update}


@tf.function
def train(x):
    strategy.run(step, args=(x,))


for x in strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(8)):
    train(x)
"""


@pytest.mark.parametrize(
    ("made", "update", "kind", "is_aggregated"),
    [
        ("tf.Variable(0, dtype=tf.int64)", "assign_add(tf.size(x, tf.int64))", "variable", True),
        ("tf.keras.metrics.Mean()", "update_state(x)", "metric", False),
    ],
)
def test_only_a_variable_needs_an_aggregation(
    made: str, update: str, kind: str, is_aggregated: bool, tmp_path: Path
) -> None:
    message, _, instead = _only("GPU213", SUMMED.format(made=made, update=update), tmp_path)
    assert message.startswith(f"the {kind} is created") and ("aggregation" in instead) == is_aggregated


SAVED = """
import horovod.tensorflow as hvd

{start}
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.save("model.keras")
"""


@pytest.mark.parametrize(
    ("start", "label", "cure"),
    [
        ("hvd.init()", "Horovod makes the program multi-worker here", "`if hvd.rank() == 0:`"),
        (
            "with tf.distribute.MultiWorkerMirroredStrategy().scope():\n    pass",
            "this strategy makes the program multi-worker",
            "give the others a temporary one",
        ),
    ],
)
def test_a_worker_is_called_as_its_library_does(start: str, label: str, cure: str, tmp_path: Path) -> None:
    program = f"import tensorflow as tf\n{SAVED.format(start=start)}"
    (found,) = [one for one in findings_in(program, tmp_path) if one.code == "GPU703"]
    assert cure in found.instead and [one.message for one in found.related] == [label]


HALF = """
tf.keras.mixed_precision.set_global_policy("mixed_float16")
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1, dtype="float32")])
optimizer = {optimizer}
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(model(tf.zeros((8, 4))) ** 2)
gradients = tape.gradient(loss, model.trainable_variables)
optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("optimizer", "why", "cure"),
    [
        ("tf.keras.optimizers.SGD()", "become zero", "wrap the optimizer in a `LossScaleOptimizer`"),
        (
            "tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD())",
            "divides by a scale",
            "compute `scaled = optimizer.scale_loss(loss)` inside the tape",
        ),
    ],
)
def test_an_optimizer_that_scales_is_not_wrapped_again(optimizer: str, why: str, cure: str, tmp_path: Path) -> None:
    _, reason, instead = _only("GPU601", HALF.format(optimizer=optimizer), tmp_path)
    assert why in reason and instead.startswith(cure)


TRIALS = """
for trial in range(20):
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(trial + 1)])
    {use}
"""


@pytest.mark.parametrize(
    ("use", "why", "cure"),
    [
        ("model.compile('adam', 'mse'); model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))", "even after", "run each"),
        (
            "model.predict(tf.zeros((64, 4)))",
            "the graph that `predict` builds",
            "call `tf.keras.backend.clear_session()`",
        ),
    ],
)
def test_clear_session_is_named_only_where_it_helps(use: str, why: str, cure: str, tmp_path: Path) -> None:
    _, reason, instead = _only("GPU305", TRIALS.format(use=use), tmp_path)
    assert why in reason and instead.startswith(cure)


@pytest.mark.parametrize(
    ("path", "message"),
    [("'epoch-1.ckpt'", "to a path that ends in `.ckpt`"), ("'folder/last'", "to a path without an extension: `last`")],
)
def test_a_refused_path_is_named_by_its_ending(path: str, message: str, tmp_path: Path) -> None:
    program = f"model = tf.keras.Sequential([tf.keras.Input((4,))])\nmodel.save_weights({path})\n"
    text, _, _ = _only("GPU902", program, tmp_path)
    assert text == f"Keras 3 cannot save weights {message}"


def test_an_operation_is_spelled_as_in_the_code(tmp_path: Path) -> None:
    program = "with tf.device('/gpu:0'):\n    image = tf.io.decode_png(tf.io.read_file('a.png'))\n"
    texts = [one.message for one in findings_in(f"import tensorflow as tf\n{program}", tmp_path)]
    assert "`tf.io.decode_png` has no GPU kernel" in texts


WINDOWS = """
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD()


def batches():
    for i in range(100):
        yield tf.random.normal((64, 4))


def step(x):
    with tf.GradientTape() as tape:
        loss = tf.nn.compute_average_loss(tf.reduce_mean(model(x) ** 2, axis=1))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


@tf.function
def train(x):
    strategy.run(step, args=(x,))


for x in {data}:
    train(x)
"""


@pytest.mark.parametrize(
    ("data", "cure"),
    [
        ("batches()", "wrap the generator in `tf.data.Dataset.from_generator(…)`"),
        ("tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64)", "iterate over"),
    ],
)
def test_a_generator_is_wrapped_before_it_is_distributed(data: str, cure: str, tmp_path: Path) -> None:
    _, _, instead = _only("GPU205", WINDOWS.format(data=data), tmp_path)
    assert instead.startswith(cure)


def test_a_direct_call_is_spelled_out_through_the_strategy(tmp_path: Path) -> None:
    program = WINDOWS.replace("    strategy.run(step, args=(x,))", "    step(x)").format(data="batches()")
    _, _, instead = _only("GPU206", program, tmp_path)
    assert instead == "call it as `strategy.run(step, args=(x,))`, with batches of a distributed dataset"


@pytest.mark.parametrize(
    ("inside", "outside", "why"),
    [
        ("model.compile('sgd', 'mse')", "model.fit(data)", "so `fit` raises ValueError"),
        ("model.fit(data)", "", "so `fit` raises RuntimeError"),
        ("strategy.num_replicas_in_sync", "model.compile('sgd', 'mse'); model.fit(data)", "the others sit idle"),
    ],
)
def test_a_model_outside_the_scope_fails_or_leaves_gpus_idle(
    inside: str, outside: str, why: str, tmp_path: Path
) -> None:
    made = "tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])"
    program = (
        f"strategy = tf.distribute.MirroredStrategy()\nmodel = {made}\n"
        "data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 4)), tf.zeros((64, 1)))).batch(32)\n"
        f"with strategy.scope():\n    {inside}\n    other = {made}\n{outside}\n"
    )
    _, reason, _ = _only("GPU201", program, tmp_path)
    assert why in reason


def test_a_loaded_model_is_loaded_once(tmp_path: Path) -> None:
    program = (
        "import tensorflow as tf\n\n\ndef score(path):\n    model = tf.keras.models.load_model(path)\n"
        "    return model.predict(tf.zeros((640, 4)))\n\n\nfor _ in range(1000):\n    score('a.keras')\n"
    )
    message, _, instead = _only("GPU305", program, tmp_path)
    assert message == "a model is loaded and used in each iteration of a loop"
    assert instead.startswith("load it once, before the loop, and reuse it")


@pytest.mark.parametrize(
    ("first", "cure"),
    [("model", "create the strategy before the model"), ("strategy", "create it inside")],
)
def test_a_strategy_that_comes_later_is_moved_before_the_model(first: str, cure: str, tmp_path: Path) -> None:
    made = {
        "strategy": "strategy = tf.distribute.MirroredStrategy()",
        "model": "model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])",
    }
    second = next(name for name in made if name != first)
    program = (
        f"{made[first]}\n{made[second]}\nwith strategy.scope():\n    model.compile('sgd', 'mse')\nmodel.fit(load())\n"
    )
    _, _, instead = _only("GPU201", program, tmp_path)
    assert instead.startswith(cure)


@pytest.mark.parametrize(
    ("program", "label"),
    [
        (
            "for gpu in tf.config.list_physical_devices('GPU'):\n"
            "    tf.config.experimental.set_memory_growth(gpu, True)\n"
            "    print(tf.config.list_logical_devices('GPU'))\n",
            "this call initialises the runtime, in the previous iteration",
        ),
        (
            "x = tf.zeros(4)\n"
            "for gpu in tf.config.list_physical_devices('GPU'):\n"
            "    tf.config.experimental.set_memory_growth(gpu, True)\n",
            "this call runs first and initialises the runtime",
        ),
    ],
)
def test_what_initialises_the_runtime_may_be_below_in_a_loop(program: str, label: str, tmp_path: Path) -> None:
    found = [one for one in findings_in(f"import tensorflow as tf\n{program}", tmp_path) if one.code == "GPU301"]
    assert [[one.message for one in each.related] for each in found] == [[label]]


@pytest.mark.parametrize(
    ("steps", "why", "cure"),
    [
        ("repeat().cache()", "memory grows with each repetition", "call `cache` before `repeat`"),
        ("shuffle(100).cache()", "gets its elements in the same order", "call `cache` before `shuffle`"),
    ],
)
def test_a_cache_behind_a_repeat_grows(steps: str, why: str, cure: str, tmp_path: Path) -> None:
    program = (
        "model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\n"
        f"data = tf.data.Dataset.from_tensor_slices((tf.zeros((6400, 4)), tf.zeros((6400, 1)))).{steps}.batch(64)\n"
        "model.fit(data, epochs=3, steps_per_epoch=10)\n"
    )
    _, reason, instead = _only("GPU403", program, tmp_path)
    assert why in reason and instead.startswith(cure)
