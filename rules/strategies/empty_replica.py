"""GPU221."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, possible, together, unsafe, values
from gpulint.plugin.fixes import calls
from gpulint.plugin.queries import datasets_in, iterated_sources, known, pipelines, updates
from gpulint.plugin.words import STRATEGY_WORDS


class EmptyReplica(Rule):
    """Last batch that can leave a replica without examples

    ## What it does
    Finds datasets that are batched without `drop_remainder=True` and train a model with batch normalization under a
    `MirroredStrategy`, by `fit` or in a loop over a distributed dataset whose step calls the model with
    `training=True`.

    ## Why is this bad
    The last batch of an epoch is divided like all others: of 66 examples in batches of 16 for four GPUs, the last two
    give `[1, 1, 0, 0]`. Batch normalization of no examples is NaN, and NaN reaches the weights of all replicas. There
    is no error (measured on TensorFlow 2.21 with Keras 3.15 and dense layers on logical CPUs: the loss is NaN from the
    second epoch on; convolutions raise there; `benchmarks/experiments/empty_replica.py`). A custom training
    loop does the same.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential(
            [tf.keras.layers.Dense(64), tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(1)]
        )
        model.compile(optimizer="sgd", loss="mse")
    data = tf.data.Dataset.from_tensor_slices((tf.random.normal((1025, 16)), tf.zeros((1025, 1))))
    model.fit(data.batch(64 * strategy.num_replicas_in_sync), epochs=10)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential(
            [tf.keras.layers.Dense(64), tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(1)]
        )
        model.compile(optimizer="sgd", loss="mse")
    data = tf.data.Dataset.from_tensor_slices((tf.random.normal((1025, 16)), tf.zeros((1025, 1))))
    model.fit(data.batch(64 * strategy.num_replicas_in_sync, drop_remainder=True), epochs=10)
    ```

    ## What is not reported
    Models without batch normalization, or with `synchronized=True`, which was not measured; datasets that repeat before
    they are batched; unknown values of `drop_remainder`; arrays; evaluation; strategies with one device; programs on
    Keras 2. As this depends on the release, the rule is on by default only for files whose TensorFlow release is known.

    ## Fix
    Unsafe: passes `drop_remainder=True`. The last, smaller batch of each epoch is then left out.

    ## At run time
    A loss of NaN.
    """

    code = "GPU221"
    name = "empty-replica"
    severity = Severity.WARNING
    is_performance = True
    asks_release = True
    in_one_replica = False
    any_of_names = STRATEGY_WORDS
    all_of_name_sets = (frozenset({"batch", ".batch("}),)
    why = "a replica without examples turns batch normalization, and then all weights, into NaN"
    instead = "pass `drop_remainder=True` to `batch`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        if not plan.runs_keras_3:
            return
        normalized = {id(strategy) for strategy in self._strategies_with_normalization()}
        for event, strategy, data in (*self._fitted(), *self._trained_in_loops(plan)):
            if strategy.kind != "mirrored" or strategy.alone or id(strategy) not in normalized:
                continue
            if isinstance(strategy.devices, values.Items) and len(strategy.devices.items or (0, 0)) == 1:
                continue
            batched = _partial(data)
            if batched is not None and together(event.where, strategy.where):
                yield Report(
                    batched,
                    "the last batch can leave a replica without examples",
                    confidence=confidence(event.where, strategy.where),
                    happens_at=event.site,
                    related=(
                        (event.site, "the model is trained here"),
                        (strategy.site, "the strategy is created here"),
                    ),
                    fix=unsafe(
                        "Drop the remainder: the last, smaller batch is left out",
                        calls.with_argument,
                        batched,
                        "drop_remainder",
                        "True",
                    ),
                )

    def _fitted(self) -> Iterator[_Trained]:
        """Datasets that `fit` trains on, each with the strategy of its model."""
        for event in self.all(events.ModelFitted):
            strategy = event.model.where.context.strategy
            for data in possible(event.data, event.where) if strategy is not None else ():
                if strategy is not None and isinstance(data, values.Dataset):
                    yield event, strategy, data

    def _trained_in_loops(self, plan: Plan) -> Iterator[_Trained]:
        """Distributed datasets whose loops train a model in its training mode, in which it normalizes by the batch."""
        in_training = {
            id(event.where.context.replica.strategy)
            for event in self.all(events.ModelCalled)
            if event.where.context.replica is not None and known(event.arguments.get("training", 1)) is True
        }
        for event in updates(plan):
            replica = event.where.context.replica
            if replica is None or id(replica.strategy) not in in_training:
                continue
            for loop in event.where.context.loops:
                for data in iterated_sources(loop.iterable):
                    if isinstance(data, values.Dataset) and data.distributed is replica.strategy:
                        yield event, replica.strategy, data

    def _strategies_with_normalization(self) -> Iterator[values.Strategy]:
        """Strategies in whose scope batch normalization is created."""
        for built in self.all(events.LayerBuilt, events.ModelBuilt):
            strategy = built.where.context.strategy
            if strategy is None:
                continue
            if isinstance(built, events.ModelBuilt):
                if built.model.library.rpartition(".")[2].startswith(_WITH_NORMALIZATION):
                    yield strategy
            elif built.layer.library.endswith(".BatchNormalization") and built.arguments.get("synchronized") is None:
                yield strategy


_Trained = tuple[events.Event, values.Strategy, values.Dataset]
"""A training step or call of `fit`, the strategy, and the data."""

_WITH_NORMALIZATION = ("DenseNet", "EfficientNet", "Inception", "MobileNet", "NASNet", "RegNet", "ResNet", "Xception")
"""Beginnings of the names of applications that have batch normalization. `ConvNeXt` and `VGG` have none."""


def _partial(dataset: values.Dataset) -> Site | None:
    """Where a dataset is batched so that its last batch may be smaller than the others, None if it is not."""
    for one in datasets_in(dataset):
        names = [step.name for step in one.steps]
        found = [index for index, name in enumerate(names) if name in pipelines.BATCHES]
        if not found:
            continue
        step = one.steps[found[-1]]
        dropped = step.arguments.get("drop_remainder", 1)
        is_kept = dropped is None or known(dropped) is False
        repeats = "repeat" in names[: found[-1]] or "unbatch" in names
        return step.site if step.name == "batch" and is_kept and not step.arguments.open and not repeats else None
    return None
