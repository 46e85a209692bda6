"""Hand-written loops under a strategy, each right one beside a wrong one that looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_rule_examples import codes_in, findings_in

LOOP = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
GLOBAL = 32 * strategy.num_replicas_in_sync
with strategy.scope():
    tagger = tf.keras.Sequential([tf.keras.Input((7,)), tf.keras.layers.Dense(3)])
    adam = tf.keras.optimizers.Adam()
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
        (f"{EACH}on_all(kept[{FROM}])", set()),
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
    assert codes_in(MADE_LATE.format(inside=inside, made=made), tmp_path) == expected


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
