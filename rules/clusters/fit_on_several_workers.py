"""GPU705."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, together
from gpulint.plugin.queries import has_cluster, predates_keras_3
from gpulint.plugin.words import CLUSTER_WORDS


class FitOnSeveralWorkers(Rule):
    """Keras 3 fit on several workers

    ## What it does
    Finds `fit` of a model under a `MultiWorkerMirroredStrategy` with a cluster, for a TensorFlow with Keras 3.

    ## Why is this bad
    With two workers or more it raises: ValueError "Attempt to convert a value (PerReplica…) with an unsupported type"
    on TensorFlow 2.21 with Keras 3.15, "Invalid reduction dimension 0" on 2.16 with Keras 3.3. A custom training loop
    works (`benchmarks/experiments/multiworker.py`).

    ## Example
    ```python
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.SlurmClusterResolver()
    strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer=tf.keras.optimizers.SGD(), loss="mse")
    model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)), batch_size=8 * strategy.num_replicas_in_sync)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.SlurmClusterResolver()
    strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
    with strategy.scope():
        weight = tf.Variable(1.0)
        optimizer = tf.keras.optimizers.SGD()


    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(weight * x)
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])


    @tf.function
    def train(iterator):
        strategy.run(step, args=(next(iterator),))


    data = tf.data.Dataset.range(64).map(lambda n: tf.cast(n, tf.float32)).batch(8 * strategy.num_replicas_in_sync)
    train(iter(strategy.experimental_distribute_dataset(data)))
    ```

    ## What is not reported
    Targets before 2.16, programs on `tf_keras`, programs that use, without a check, what was removed after 2.0 and
    up to 2.16 (`experimental_run_v2`), strategies without a cluster, custom training loops.

    ## At run time
    The error message.
    """

    code = "GPU705"
    name = "fit-on-several-workers"
    severity = Severity.ERROR
    any_of_names = CLUSTER_WORDS
    why = "with two or more workers, `fit` raises ValueError"
    instead = (
        "write a training loop with `strategy.run`, or use Keras 2: install `tf_keras` and set `TF_USE_LEGACY_KERAS=1`"
    )

    def on_model_fitted(self, event: events.ModelFitted, plan: Plan) -> Iterator[Report]:
        if not plan.runs_keras_3 or predates_keras_3(plan):
            return
        strategy = event.model.where.context.strategy
        for built in self.all(events.StrategyBuilt):
            if (
                built.strategy is strategy
                and built.strategy.kind == "multi_worker"
                and has_cluster(built, plan)
                and together(event.where, built.where)
            ):
                yield Report(
                    event.site,
                    "Keras 3's `fit` does not support multi-worker strategies",
                    confidence=confidence(event.where, built.where),
                    related=((built.site, "the strategy is created here"),),
                )
