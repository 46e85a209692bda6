"""GPU208."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.api import STRATEGY_WORDS, Plan, Report, Rule, Severity, confidence, events, possible, values


class LossNotAveraged(Rule):
    """Per-replica mean or sum of the loss

    ## What it does
    Finds, in a replica function, gradients of a loss that was averaged or added up over the replica's own batch and
    never divided by the global batch size or the number of replicas.

    ## Why is this bad
    Gradients are added up over the replicas. A mean over the local batch makes each step as many times too large
    as there are replicas: training diverges or needs another learning rate on every machine.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        weight = tf.Variable(1.0)
        optimizer = tf.keras.optimizers.SGD()


    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.keras.losses.mean_squared_error(y, weight * x))
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])


    @tf.function
    def train(x, y):
        strategy.run(step, args=(x, y))


    train(tf.zeros((8, 1)), tf.zeros((8, 1)))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    GLOBAL_BATCH_SIZE = 64
    with strategy.scope():
        weight = tf.Variable(1.0)
        optimizer = tf.keras.optimizers.SGD()


    def step(x, y):
        with tf.GradientTape() as tape:
            per_example = tf.keras.losses.mean_squared_error(y, weight * x)
            loss = tf.nn.compute_average_loss(per_example, global_batch_size=GLOBAL_BATCH_SIZE)
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])


    @tf.function
    def train(x, y):
        strategy.run(step, args=(x, y))


    train(tf.zeros((8, 1)), tf.zeros((8, 1)))
    ```

    ## What is not reported
    Keras 3 loss objects with their default reduction (they divide by the replica count themselves: measured on
    Keras 3.15, same weights as `compute_average_loss`), `compute_average_loss`, sums divided by the global batch,
    division by `num_replicas_in_sync`, evaluation without gradients, and single-replica loops. With a target
    before TensorFlow 2.16 (Keras 2) a loss object's default reduction raises in a replica function, and is
    reported.

    ## At run time
    Not visible at run time.
    """

    code = "GPU208"
    name = "loss-not-averaged"
    severity = Severity.ERROR
    speaks_of = STRATEGY_WORDS
    why = "gradients are summed over replicas, so each step is replicas × too large"
    instead = "divide by the global batch size: `tf.nn.compute_average_loss(per_example, global_batch_size=…)`"

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> Iterator[Report]:
        replica = event.where.context.replica
        if replica is None or event.reduced_already:
            return
        for tensor in event.gradients:
            gradient = tensor.gradient
            if gradient is None or gradient.scaled:
                continue
            for loss in possible(gradient.loss, event.where):
                if isinstance(loss, values.Tensor) and loss.reduced and (text := _problem(loss.reduced, plan.target)):
                    yield Report(
                        loss.reduced.site,
                        text,
                        confidence=confidence(event.where, replica.strategy.where),
                        related=(
                            (gradient.site, "its gradient is taken here"),
                            (replica.site, "each replica runs this"),
                        ),
                    )


def _problem(reduced: values.Reduced, target: str) -> str:
    if reduced.how == "mean":
        return "the loss is averaged over the replica's own batch only"
    if reduced.how == "sum":
        return "the loss is summed over the replica's own batch and never divided by the global batch size"
    if reduced.how == "default" and tuple(int(part) for part in target.split(".")[:2]) < KERAS_3:
        return "a Keras 2 loss object with its default reduction raises in a replica function"
    return ""


KERAS_3 = (2, 16)
"""The first TensorFlow release that comes with Keras 3."""
