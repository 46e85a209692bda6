"""GPU218."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, together, values
from gpulint.plugin.words import STRATEGY_WORDS


class ClippedPerReplica(Rule):
    """Gradients clipped before they are added up

    ## What it does
    Finds `tf.clip_by_global_norm`, `tf.clip_by_norm` and `tf.clip_by_value` of gradients in a replica function, whose
    optimizer then adds the gradients of all replicas up.

    ## Why is this bad
    Each replica clips its own part, and the sum of N parts can be N times the limit. Measured with a limit of 1: the
    step is 2 with two replicas and 4 with four (TensorFlow 2.21, `benchmarks/experiments/clipped_per_replica.py`).
    `clipnorm` and `global_clipnorm` of Keras's optimizers clip per replica as well.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.SGD(0.1)
    data = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64, drop_remainder=True)


    def replica_step(x):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(tf.reduce_mean(model(x) ** 2, axis=1), global_batch_size=64)
        gradients = tape.gradient(loss, model.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


    @tf.function
    def train_step(x):
        strategy.run(replica_step, args=(x,))


    for x in strategy.experimental_distribute_dataset(data):
        train_step(x)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.SGD(0.1)
    data = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64, drop_remainder=True)


    def replica_step(x):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(tf.reduce_mean(model(x) ** 2, axis=1), global_batch_size=64)
        gradients = tape.gradient(loss, model.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0 / strategy.num_replicas_in_sync)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


    @tf.function
    def train_step(x):
        strategy.run(replica_step, args=(x,))


    for x in strategy.experimental_distribute_dataset(data):
        train_step(x)
    ```
    To clip exactly as one GPU does, sum the gradients first, with
    `tf.distribute.get_replica_context().all_reduce("sum", gradients)`, and divide the clipped sum by the number of
    replicas: `apply_gradients` sums once more.

    ## What is not reported
    Gradients that were summed before; limits that depend on the number of replicas; other tensors; strategies with
    one replica.

    ## At run time
    Not visible at run time.
    """

    code = "GPU218"
    name = "clipped-per-replica"
    severity = Severity.WARNING
    in_one_replica = False
    any_of_names = frozenset({"clip_by_global_norm", "clip_by_norm", "clip_by_value"})
    all_of_name_sets = (STRATEGY_WORDS,)
    why = "the sum over N replicas can be N times the limit, so updates are larger than intended"
    instead = "divide the limit by `strategy.num_replicas_in_sync`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        reduced = {event.where.context.replica for event in self.all(events.Reduction)}
        applied = [event for event in self.all(events.GradientsApplied) if not event.reduced_already]
        for event in self.all(events.OpCalled):
            replica = event.where.context.replica
            if event.name not in _CLIPS or replica is None or not replica.strategy.is_multi_replica:
                continue
            if replica in reduced or any(map(_depends_on_replicas, event.inputs)):
                continue
            if not any(isinstance(one, values.Tensor) and one.gradient is not None for one in event.inputs):
                continue
            steps = [one for one in applied if one.where.context.replica == replica]
            if steps and together(event.where, steps[0].where, replica.strategy.where):
                yield Report(
                    event.site,
                    "each replica clips its gradients before they are summed",
                    confidence=confidence(event.where),
                    related=(
                        (steps[0].site, "the gradients are summed and applied here"),
                        (replica.strategy.site, "the strategy is created here"),
                    ),
                )


_CLIPS = frozenset({"tensorflow.clip_by_global_norm", "tensorflow.clip_by_norm", "tensorflow.clip_by_value"})


def _depends_on_replicas(limit: values.Value) -> bool:
    return type(limit) is values.Unknown and any("replica" in word for word in limit.symbol.words)
