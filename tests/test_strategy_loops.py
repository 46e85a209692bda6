"""Custom training loops under a strategy, each correct one beside a wrong look-alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import codes_in, findings_in
from tests.fixing.fixing import fixed_text

LOOP = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
GLOBAL = 32 * strategy.num_replicas_in_sync
with strategy.scope():
    tagger = tf.keras.Sequential([tf.keras.Input((7,)), tf.keras.layers.Dense(3)])
    adam = tf.keras.optimizers.Adam()
    adam.build(tagger.trainable_variables)
each = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


def learn(words, tags):
    with tf.GradientTape() as tape:
        {}
    slopes = tape.gradient(cost, tagger.trainable_variables)
    adam.apply_gradients(zip(slopes, tagger.trainable_variables))


@tf.function
def on_all(words, tags):
    strategy.run(learn, args=(words, tags))


pairs = tf.data.Dataset.from_tensor_slices((tf.zeros((640, 7)), tf.zeros((640,), tf.int32))).batch(GLOBAL)
for words, tags in strategy.experimental_distribute_dataset(pairs):
    on_all(words, tags)
"""


@pytest.mark.parametrize(
    "loss",
    [
        "cost = each(tags, tagger(words)) * tf.cast(tags != 0, 'float32'); cost = tf.reduce_mean(cost)",
        "kept = tf.math.logical_not(tf.math.equal(tags, 0)); cost = each(tags, tagger(words)); "
        "cost *= tf.cast(kept, cost.dtype); cost = tf.reduce_mean(cost)",
        "left = 1.0 - tf.cast(tf.equal(tags, 0), tf.float32); "
        "cost = tf.reduce_mean(tf.multiply(left, each(tags, tagger(words))))",
        "cost = tf.reduce_sum(each(tags, tagger(words)) * tf.sequence_mask(tags, 3, tf.float32))",
        "cost = tf.keras.losses.sparse_categorical_crossentropy(tags, tagger(words), from_logits=True)",
        "cost = 0.5 * tf.keras.losses.MSE(tf.one_hot(tags, 3), tagger(words))",
    ],
)
def test_losses_that_nothing_divides(loss: str, tmp_path: Path) -> None:
    assert codes_in(LOOP.format(loss), tmp_path) == {"GPU208"}


@pytest.mark.parametrize(
    "loss",
    [
        "kept = tf.cast(tf.not_equal(tags, 0), tf.float32); "
        "cost = tf.nn.compute_average_loss(each(tags, tagger(words)) * kept, global_batch_size=GLOBAL)",
        "kept = tf.cast(tf.not_equal(tags, 0), tf.float32); "
        "cost = tf.reduce_sum(each(tags, tagger(words)) * kept) / GLOBAL",
        "kept = tf.cast(tags != 0, tf.float32) / strategy.num_replicas_in_sync; "
        "cost = tf.reduce_mean(each(tags, tagger(words)) * kept)",
        "share = 1.0 / tf.cast(strategy.num_replicas_in_sync, tf.float32); "
        "cost = tf.reduce_mean(each(tags, tagger(words)) * share)",
        "cost = tf.keras.losses.MSE(tf.one_hot(tags, 3), tagger(words)) / GLOBAL",
        "cost = tf.keras.losses.MSE(tf.one_hot(tags, 3), tagger(words)) * (1.0 / GLOBAL)",
        "cost = tf.nn.compute_average_loss(tf.keras.losses.MAE(tf.one_hot(tags, 3), tagger(words)), "
        "global_batch_size=GLOBAL)",
        "cost = tf.nn.scale_regularization_loss(tf.keras.losses.MAE(tf.one_hot(tags, 3), tagger(words)))",
        "cost = tf.nn.compute_average_loss(each(tags, tagger(words)), global_batch_size=GLOBAL); "
        "cost += 0.01 * tf.keras.losses.MSE(tagger.layers[0].kernel, tagger.layers[0].kernel)",
    ],
)
def test_losses_that_something_divides(loss: str, tmp_path: Path) -> None:
    assert codes_in(LOOP.format(loss), tmp_path) == set()


TRAINER = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
GLOBAL = 16 * strategy.num_replicas_in_sync
with strategy.scope():
    coder = tf.keras.Sequential([tf.keras.Input((6,)), tf.keras.layers.Dense(6)])
    sgd = tf.keras.optimizers.SGD(0.05)


def divided(a, b):
    return tf.reduce_sum(tf.abs(a - b)) / GLOBAL


def averaged(a, b):
    return tf.reduce_mean(tf.abs(a - b))


def fit(distance):
    def one(x):
        with tf.GradientTape() as tape:
            far = distance(x, coder(x))
        sgd.apply_gradients(zip(tape.gradient(far, coder.trainable_variables), coder.trainable_variables))

    @tf.function
    def everywhere(x):
        strategy.run(one, args=(x,))

    rows = tf.data.Dataset.from_tensor_slices(tf.zeros((320, 6))).batch(GLOBAL)
    for x in strategy.experimental_distribute_dataset(rows):
        everywhere(x)


"""


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("fit(divided)\nfit(averaged)", {"GPU208"}),
        ("fit(averaged)\nfit(divided)", {"GPU208"}),
        ("fit(divided)\nfit(divided)", set()),
        ("import sys\nfit(averaged if len(sys.argv) == 2 else divided)", set()),
        ("import sys\nif sys.argv[1]:\n    fit(averaged)\nelse:\n    fit(divided)", set()),
    ],
)
def test_a_trainer_that_is_given_a_right_loss_and_a_wrong_one(calls: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(TRAINER + calls + "\n", tmp_path) == expected


GIVEN_WHOLE = """
import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
SIZE = 48 * strategy.num_replicas_in_sync
with strategy.scope():
    scorer = tf.keras.Sequential([tf.keras.Input((9,)), tf.keras.layers.Dense(1)])
    descent = tf.keras.optimizers.SGD(0.01)


def learn(x, rate=1.0, step=0):
    {taken}
    with tf.GradientTape() as tape:
        off = tf.nn.compute_average_loss(tf.square(scorer(x))[:, 0], global_batch_size=SIZE)
    slopes = tape.gradient(off, scorer.trainable_variables)
    descent.apply_gradients(zip([rate * one for one in slopes], scorer.trainable_variables))


@tf.function
def on_all(*given):
    strategy.run(learn, args=given)


table = tf.random.normal([4800, 9])
kept = np.load("kept.npy")
(digits, _), _ = tf.keras.datasets.mnist.load_data()
parts = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(table).batch(SIZE))
{training}
"""
EACH = "for i in range(100):\n    "
FROM = "i * SIZE:(i + 1) * SIZE"


@pytest.mark.parametrize(
    ("training", "expected"),
    [
        (f"{EACH}on_all(table[{FROM}])", {"GPU205"}),
        (f"{EACH}on_all(table[{FROM}, :])", {"GPU205"}),
        (f"{EACH}on_all(table[{FROM}] / 255.0, 0.1, tf.constant(i))", {"GPU205"}),
        (f"{EACH}on_all(digits[{FROM}].astype('float32'))", {"GPU205"}),
        (f"{EACH}on_all(tf.convert_to_tensor(digits[{FROM}] / 255.0))", {"GPU205"}),
        (f"{EACH}on_all(tf.constant(np.random.rand(SIZE, 9), tf.float32), tf.constant(0.1))", {"GPU205"}),
        (f"{EACH}on_all(np.random.rand(SIZE, 9).astype('f4'), i)", {"GPU205"}),
        (f"{EACH}on_all(tf.random.stateless_uniform((SIZE, 9), (i, 2)))", {"GPU205"}),
        ("first = 0\nwhile first < 4800:\n    on_all(table[first:first + 64])\n    first += 64", {"GPU205"}),
        (f"{EACH}on_all(table[i:i + 1])", set()),
        (f"{EACH}on_all(kept[{FROM}])", {"GPU205"}),
        (f"{EACH}on_all(table[0])", set()),
        ("on_all(table[:64])", set()),
        ("for x in parts:\n    on_all(x, tf.random.normal((3, 1)))", set()),
        ("for i, x in enumerate(parts):\n    on_all(x, tf.constant(0.1), tf.cast(i, tf.int64))", set()),
        (f"betas = tf.constant([0.1, 0.2, 0.3])\n{EACH}on_all(betas[:2])", set()),
        (f"{EACH}on_all(tf.constant(0.5), i)", set()),
        (f"{EACH}on_all(tf.constant([0.1, 0.2]), tf.zeros((3, 9)))", set()),
        (f"{EACH}on_all(read(i), tf.constant(0.5))", set()),
        (f"{EACH}on_all(read(i), table[{FROM}])", set()),
    ],
)
def test_rows_that_every_replica_gets_whole(training: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(GIVEN_WHOLE.format(taken="pass", training=training), tmp_path) - {"GPU504"} == expected


def test_replicas_that_take_their_own_part(tmp_path: Path) -> None:
    own = "x = x[tf.distribute.get_replica_context().replica_id_in_sync_group::strategy.num_replicas_in_sync]"
    program = GIVEN_WHOLE.format(taken=own, training=f"{EACH}on_all(table[{FROM}])")
    assert codes_in(program, tmp_path) == set()


def test_samples_that_every_replica_draws_anew(tmp_path: Path) -> None:
    drawn = f"{EACH}strategy.run(tf.function(lambda z: scorer(z)), args=(tf.random.normal((8, 9)),))"
    assert "GPU205" not in codes_in(GIVEN_WHOLE.format(taken="pass", training=drawn), tmp_path)


MADE_LATE = """
import tensorflow as tf


class Regressor(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(3)
        {inside}

    def call(self, rows):
        return self.hidden(rows)


strategy = tf.distribute.MirroredStrategy()
{made}


def one(rows):
    with tf.GradientTape() as tape:
        off = tf.nn.compute_average_loss(tf.reduce_sum(regressor(rows) ** 2, axis=1))
    slopes = tape.gradient(off, regressor.trainable_variables)
    optimizer.apply_gradients(zip(slopes, regressor.trainable_variables))


@tf.function
def on_all(rows):
    strategy.run(one, args=(rows,))


table = tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(32 * strategy.num_replicas_in_sync)
for rows in strategy.experimental_distribute_dataset(table):
    on_all(rows)
"""
ADAM = "optimizer = tf.keras.optimizers.Adam()"
IN_SCOPE = f"with strategy.scope():\n    {ADAM}"


@pytest.mark.parametrize(
    ("inside", "made", "expected"),
    [
        ("pass", f"regressor = Regressor()\n{ADAM}", {"GPU202"}),
        ("pass", f"regressor = tf.keras.Sequential([tf.keras.layers.Dense(2)])\n{ADAM}", {"GPU202"}),
        ("pass", f"regressor = Regressor()\n{ADAM}\ntf.train.Checkpoint(model=regressor)", {"GPU202"}),
        ("pass", f"regressor = Regressor()\nregressor.call(tf.zeros((1, 4)))\n{IN_SCOPE}", {"GPU201"}),
        ("pass", f"regressor = Regressor()\n{IN_SCOPE}", set()),
        ("pass", f"{IN_SCOPE}\n    regressor = Regressor()\n    regressor(tf.zeros((1, 4)))", set()),
        ("pass", f"regressor = Regressor()\n{IN_SCOPE}\n    regressor(tf.zeros((1, 4)))", set()),
        ("pass", f"regressor = Regressor()\nprepare(regressor)\n{ADAM}", set()),
        ("pass", f"regressor = Regressor()\nregressor(tf.zeros((1, 4)))\n{IN_SCOPE}", {"GPU201"}),
        ("pass", f"regressor = Regressor()\nregressor(tf.zeros((1, 4)))\n{ADAM}", {"GPU201"}),
        ("self(tf.zeros((1, 4)))", f"regressor = Regressor()\n{IN_SCOPE}", {"GPU201"}),
        ("self.scale = tf.Variable(1.0)", f"regressor = Regressor()\n{IN_SCOPE}", {"GPU201"}),
        ("pass", f"regressor = tf.keras.Sequential()\nregressor.build((None, 4))\n{IN_SCOPE}", {"GPU201"}),
        (
            "pass",
            "regressor = tf.keras.Sequential()\nregressor.add(tf.keras.Input((4,)))\n"
            f"regressor.add(tf.keras.layers.Dense(2))\n{IN_SCOPE}",
            {"GPU201"},
        ),
        (
            "pass",
            "base = tf.keras.applications.ResNet50(include_top=False, pooling='avg')\n"
            f"regressor = tf.keras.Sequential([base, tf.keras.layers.Dense(2)])\n{IN_SCOPE}",
            {"GPU201"},
        ),
    ],
)
def test_variables_that_replicas_make(inside: str, made: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(MADE_LATE.format(inside=inside, made=made), tmp_path) - {"GPU217"} == expected


OWN_METRIC = """
import tensorflow as tf


class Largest(tf.keras.metrics.Metric):
    def __init__(self):
        super().__init__()
        self.most = {weight}

    def update_state(self, values):
        self.most.assign(tf.maximum(self.most, tf.reduce_max(values)))

    def result(self):
        return self.most


strategy = tf.distribute.MirroredStrategy()
{made}


@tf.function
def on_all(values):
    {updated}


numbers = tf.data.Dataset.range(640).map(lambda n: tf.cast(n, tf.float32)).batch(8 * strategy.num_replicas_in_sync)
for values in strategy.experimental_distribute_dataset(numbers):
    on_all(values)
print(largest.result())
"""
WEIGHT = "self.add_weight(name='most', shape=(), initializer='zeros')"
BY_REPLICAS = "strategy.run(lambda part: largest.update_state(part), args=(values,))"


@pytest.mark.parametrize(
    ("weight", "made", "updated", "expected"),
    [
        (WEIGHT, "largest = Largest()", BY_REPLICAS, {("GPU213", 18)}),
        (WEIGHT, "with strategy.scope():\n    largest = Largest()", BY_REPLICAS, set()),
        (WEIGHT, "largest = Largest()", "strategy.run(lambda part: largest.result(), args=(values,))", set()),
        ("read()", "largest = Largest()", BY_REPLICAS, set()),
    ],
)
def test_weights_of_a_metric_of_the_programs_own(
    weight: str, made: str, updated: str, expected: set[tuple[str, int]], tmp_path: Path
) -> None:
    findings = findings_in(OWN_METRIC.format(weight=weight, made=made, updated=updated), tmp_path)
    assert {(one.code, one.span.row) for one in findings} == expected


KEPT = """
import tensorflow as tf

_kept = None


def all_gpus():
    global _kept
    if _kept is None:
        _kept = tf.distribute.MirroredStrategy()
    return _kept


def build():
    return tf.keras.Sequential([tf.keras.Input((5,)), tf.keras.layers.Dense(1)])


def learn(rows):
    {body}
    net.fit(rows, rows[:, :1], batch_size=16 * all_gpus().num_replicas_in_sync)


{before}
learn(tf.ones([320, 5]))
"""


@pytest.mark.parametrize("before", ["all_gpus()", "print(all_gpus().num_replicas_in_sync)", ""])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("net = build()\n    with all_gpus().scope():\n        net.compile('adam', 'mse')", {("GPU201", 19)}),
        ("with all_gpus().scope():\n        net = build()\n        net.compile('adam', 'mse')", set()),
    ],
)
def test_a_strategy_that_a_function_keeps(
    before: str, body: str, expected: set[tuple[str, int]], tmp_path: Path
) -> None:
    findings = findings_in(KEPT.format(before=before, body=body), tmp_path)
    assert {(one.code, one.span.row) for one in findings} == expected


SUMMED = """
import tensorflow as tf

net = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
adam = {optimizer}
adam.build(net.trainable_variables)
EVERY = 8
sums = [tf.Variable(tf.zeros_like(one), trainable=False) for one in net.trainable_variables]
rows = tf.data.Dataset.from_tensor_slices(tf.zeros((960, 3))).batch(32)


def slopes_of(x):
    with tf.GradientTape() as tape:
        off = tf.reduce_mean(net(x) ** 2) / EVERY
    return tape.gradient(off, net.trainable_variables)


@tf.function
def small_step(x):
    for kept, slope in zip(sums, slopes_of(x)):
        kept.assign_add(slope)
    {applied}


def empty():
    for kept in sums:
        kept.assign(tf.zeros_like(kept))


@tf.function
def apply():
    adam.apply_gradients(zip(sums, net.trainable_variables))


for epoch in range(30):
    for number, x in enumerate(rows):
        small_step(x)
        {after}
"""
AT_ONCE = "adam.apply_gradients(zip(sums, net.trainable_variables))"


@pytest.mark.parametrize(
    ("applied", "after", "expected"),
    [
        (AT_ONCE, "pass", {"GPU212"}),
        (AT_ONCE, "if (number + 1) % EVERY == 0:\n            empty()", {"GPU212"}),
        (AT_ONCE, "empty()", set()),
        (AT_ONCE, "note(sums)", set()),
        ("pass", "if (number + 1) % EVERY == 0:\n            apply()\n            empty()", set()),
    ],
)
def test_sums_that_are_applied_by_a_function(applied: str, after: str, expected: set[str], tmp_path: Path) -> None:
    program = SUMMED.format(optimizer="tf.keras.optimizers.Adam()", applied=applied, after=after)
    assert codes_in(program, tmp_path) == expected


OVERRIDDEN = """
import tensorflow as tf


class Adding(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
        self.sums = [tf.Variable(tf.zeros_like(one), trainable=False) for one in self.inner.trainable_variables]
        self.seen = tf.Variable(0, trainable=False)

    def call(self, x):
        return self.inner(x)

    def empty(self):
        for kept in self.sums:
            kept.assign(tf.zeros_like(kept))

    def use(self):
        self.optimizer.apply_gradients(zip(self.sums, self.inner.trainable_variables))

    def use_and_empty(self):
        self.use()
        self.empty()

    def train_step(self, data):
        with tf.GradientTape() as tape:
            off = tf.reduce_mean((self.inner(data[0]) - data[1]) ** 2) / 4
        for kept, slope in zip(self.sums, tape.gradient(off, self.inner.trainable_variables)):
            kept.assign_add(slope)
        self.seen.assign_add(1)
        {used}
        return {{"off": off}}


adding = Adding()
adding.compile(tf.keras.optimizers.SGD(0.1))
adding.fit(tf.ones([320, 3]), tf.ones([320, 1]))
"""


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ("self.use()\n        tf.cond(self.seen % 4 == 0, self.empty, lambda: None)", {"GPU212"}),
        ("tf.cond(self.seen % 4 == 0, self.use_and_empty, lambda: None)", set()),
        ("self.use()\n        self.empty()", set()),
    ],
)
def test_sums_that_a_train_step_applies(used: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(OVERRIDDEN.format(used=used), tmp_path) == expected


MICRO = """
import tensorflow as tf


class Adder(tf.keras.optimizers.SGD):
    def __init__(self, accumulation=1, **rest):
        super().__init__(**rest)
        self.accumulation = accumulation


net = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
optimizer = {optimizer}


@tf.function
def learn(rows, micro_steps):
    for part in range(micro_steps):
        with tf.GradientTape() as tape:
            off = tf.reduce_mean(net(rows) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(off, net.trainable_variables), net.trainable_variables))
"""


@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [
        ("tf.keras.optimizers.SGD(0.1)", {"GPU212"}),
        ("tf.keras.optimizers.SGD(0.1, gradient_accumulation_steps=None)", {"GPU212"}),
        ("tf.keras.optimizers.SGD(0.1, gradient_accumulation_steps=6)", set()),
        ("tf.keras.optimizers.SGD(0.1, gradient_accumulation_steps=read())", set()),
        ("Adder(accumulation=6)", set()),
    ],
)
def test_optimizers_that_add_up_by_themselves(optimizer: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(MICRO.format(optimizer=optimizer), tmp_path) & {"GPU212"} == expected


OF_ROWS = """
import numpy as np
import tensorflow as tf


class Rows({base}):
    def __init__(self, table, batch_size=32):
        super().__init__()
        self.table = table
        self.batch_size = batch_size

    def __len__(self):
        return len(self.table) // self.batch_size

    def __getitem__(self, number):
        part = self.table[number * self.batch_size:(number + 1) * self.batch_size]
        return part, part[:, :1]


SIZE = 24
strategy = tf.distribute.MirroredStrategy()
rows = Rows(np.zeros((960, 6), "float32"), {size})
with {scope}:
    net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    net.compile(optimizer="adam", loss="mse")
net.fit({given})
"""
SEQUENCE, IN_FORCE = "tf.keras.utils.Sequence", "strategy.scope()"


@pytest.mark.parametrize(
    ("base", "size", "scope", "given", "expected"),
    [
        (SEQUENCE, "SIZE", IN_FORCE, "rows", {"GPU209"}),
        ("tf.keras.utils.PyDataset", "batch_size=SIZE", IN_FORCE, "rows", {"GPU209"}),
        (SEQUENCE, "SIZE * strategy.num_replicas_in_sync", IN_FORCE, "rows", set()),
        (SEQUENCE, "int(input())", IN_FORCE, "rows", set()),
        (SEQUENCE, "batch_size=4", IN_FORCE, "rows", set()),
        ("object", "SIZE", IN_FORCE, "rows.table, rows.table[:, :1], batch_size=read()", set()),
        (SEQUENCE, "SIZE", "tf.device('/cpu:0'), strategy.scope()", "read(), validation_data=rows", set()),
    ],
)
def test_batches_of_a_class_of_the_programs_own(
    base: str, size: str, scope: str, given: str, expected: set[str], tmp_path: Path
) -> None:
    program = OF_ROWS.format(base=base, size=size, scope=scope, given=given)
    assert codes_in(program, tmp_path) & {"GPU209"} == expected


def test_the_size_that_a_class_is_given_is_scaled(tmp_path: Path) -> None:
    program = OF_ROWS.format(base=SEQUENCE, size="SIZE", scope=IN_FORCE, given="rows")
    assert '"float32"), SIZE * strategy.num_replicas_in_sync)' in fixed_text(program, tmp_path, select=("GPU209",))


SCOPED = """
import tensorflow as tf


class Setup:
    def __init__(self):
        self.strategy = tf.distribute.MirroredStrategy()

    def scope(self):
        {given}


def train(rows, setup):
    {built}
    net.fit(rows, rows[:, :1], batch_size=16 * setup.strategy.num_replicas_in_sync)


def train_again(rows, setup):
    with setup.scope():
        net = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
        net.compile("adam", "mse")
    net.fit(rows, rows[:, :1], batch_size=16 * setup.strategy.num_replicas_in_sync)


train(tf.ones((320, 2)), Setup())
train_again(tf.ones((320, 2)), Setup())
"""
NET = "net = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])"
COMPILED = "net.compile('adam', 'mse')"
RETURNED = "return self.strategy.scope()"


@pytest.mark.parametrize(
    ("given", "built", "expected"),
    [
        (RETURNED, f"setup.scope()\n    {NET}\n    {COMPILED}", {("GPU203", 14)}),
        (RETURNED, f"with setup.scope():\n        {NET}\n        {COMPILED}", set()),
        (
            RETURNED,
            f"scope = setup.scope()\n    scope.__enter__()\n    {NET}\n    {COMPILED}\n"
            "    scope.__exit__(None, None, None)",
            set(),
        ),
        (RETURNED, f"use(setup.scope())\n    {NET}\n    {COMPILED}", set()),
        (
            "made = self.strategy.scope()\n        made.__enter__()\n        return made",
            f"setup.scope()\n    {NET}\n    {COMPILED}",
            set(),
        ),
    ],
)
def test_a_scope_that_one_caller_drops(given: str, built: str, expected: set[tuple[str, int]], tmp_path: Path) -> None:
    findings = findings_in(SCOPED.format(given=given, built=built), tmp_path)
    assert {(one.code, one.span.row) for one in findings if one.code == "GPU203"} == expected


COUNTED = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    judge = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])


def one(rows):
    return tf.reduce_sum(tf.argmax(judge(rows), -1))


@tf.function
def on_all(rows):
    hits = strategy.run(one, args=(rows,))
    {given}


parts = tf.data.Dataset.from_tensor_slices(tf.zeros((320, 3))).batch(16 * strategy.num_replicas_in_sync)
for rows in strategy.experimental_distribute_dataset(parts):
    on_all(rows)
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("return tf.compat.v1.to_float(hits)", {"GPU214"}),
        ("return tf.compat.v1.to_int32(hits)", {"GPU214"}),
        ("return tf.compat.v1.to_float(strategy.reduce('SUM', hits, axis=None))", set()),
        ("return strategy.reduce('SUM', hits, axis=None)", set()),
    ],
)
def test_parts_that_an_operation_of_tensorflow_1_takes(given: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(COUNTED.format(given=given), tmp_path) == expected


FITTED = """
import tensorflow as tf


class Pair(tf.keras.Model):
    def __init__(self, first):
        super().__init__()
        self.first = first

    def compile(self, optimizer):
        super().compile()
        self.own = optimizer

    def train_step(self, rows):
        with tf.GradientTape() as tape:
            off = tf.reduce_mean(self.first(rows) ** 2)
        slopes = tape.gradient(off, self.first.trainable_variables)
        self.own.apply_gradients(zip(slopes, self.first.trainable_variables))
        return {{"off": off}}

    def fit(self, *given, **named):
        return super().fit(*given, **named)


pair = Pair(tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)]))
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    pair.compile(tf.keras.optimizers.SGD(0.1))
{trained}
"""


@pytest.mark.parametrize(
    ("trained", "expected"),
    [
        ("pair.fit(tf.zeros((64, 4)))", {"GPU201"}),
        ("pair.train_step(tf.zeros((64, 4)))", {"GPU201", "GPU206"}),
    ],
)
def test_a_train_step_that_fit_calls(trained: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(FITTED.format(trained=trained), tmp_path) - {"GPU508"} == expected


def test_variables_that_replicas_make_by_the_method_call(tmp_path: Path) -> None:
    program = MADE_LATE.format(inside="pass", made=f"regressor = Regressor()\n{ADAM}")
    assert codes_in(program.replace("regressor(rows) ** 2", "regressor.call(rows) ** 2"), tmp_path) == {"GPU202"}
