"""GPU208."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.api import (
    STRATEGY_WORDS,
    Plan,
    Report,
    Rule,
    Severity,
    Site,
    Where,
    callers,
    confidence,
    events,
    possible,
    together,
    values,
)


class LossNotAveraged(Rule):
    """Per-replica mean or sum of the loss

    ## What it does
    Finds, in a replica function, gradients of a loss that was averaged or summed over the replica's own batch and never
    divided by the global batch size or the number of replicas, or of per-example losses (`Reduction.NONE`, functions
    such as `keras.losses.mean_squared_error`), which TensorFlow sums. A mean is also found as one term of a loss whose
    other terms are right, with or without a weight (`0.1 *`, `LAMBDA *`, `config.l1_weight *`), and with a mask
    (`tf.cast(tf.not_equal(y, 0), tf.float32) *`).

    ## Why is this bad
    Gradients are summed over the replicas. With a mean over the local batch, each step is too large by a factor of the
    number of replicas: training diverges or needs another learning rate on every machine.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        weight = tf.Variable(1.0)
        optimizer = tf.keras.optimizers.SGD()


    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.keras.losses.MSE(y, weight * x))
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
            per_example = tf.keras.losses.MSE(y, weight * x)
            loss = tf.nn.compute_average_loss(per_example, global_batch_size=GLOBAL_BATCH_SIZE)
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])


    @tf.function
    def train(x, y):
        strategy.run(step, args=(x, y))


    train(tf.zeros((8, 1)), tf.zeros((8, 1)))
    ```

    ## What is not reported
    Keras 3 loss objects with their default reduction (they divide by the replica count themselves: measured on Keras
    3.15, same weights as `compute_average_loss`), `compute_average_loss`, sums divided by the global batch, division by
    `num_replicas_in_sync`, factors that may be one over the number of replicas, penalties on variables, sums next to a
    scaled loss, evaluation without gradients, and single-replica loops. With a target before TensorFlow 2.16 (Keras 2)
    a loss object's default reduction raises in a replica function, and is reported.

    ## At run time
    Not visible at run time.
    """

    code = "GPU208"
    name = "loss-not-averaged"
    severity = Severity.ERROR
    in_one_replica = False
    any_of_names = STRATEGY_WORDS
    why = "gradients are summed over replicas, so each step is replicas × too large"
    instead = "divide by the global batch size: `tf.nn.compute_average_loss(per_example, global_batch_size=…)`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        """Report losses that are not scaled.

        A loss that is scaled on another path is left to its author, unless another call of the same function scales it.
        """
        scaled: dict[Site, list[Where]] = defaultdict(list)
        suspects: list[tuple[events.GradientsApplied, values.Gradient, values.Reduced, str]] = []
        for event in self.all(events.GradientsApplied):
            if event.where.context.replica is None or event.reduced_already:
                continue
            for gradient, reduced in _losses(event):
                if gradient.scaled or reduced.how == "scaled":
                    scaled[event.site].append(event.where)
                elif text := _problem(reduced, plan.has_keras_3):
                    suspects.append((event, gradient, reduced, text))
        for event, gradient, reduced, text in suspects:
            replica = event.where.context.replica
            if replica is not None and all(_is_another_call(event.where, one) for one in scaled[event.site]):
                yield Report(
                    reduced.site,
                    text,
                    confidence=confidence(event.where, replica.strategy.where),
                    related=((gradient.site, "its gradient is taken here"), (replica.site, "each replica runs this")),
                )


def _losses(event: events.GradientsApplied) -> Iterator[tuple[values.Gradient, values.Reduced]]:
    """Applied gradients, each with the reduction of its loss."""
    for tensor in event.gradients:
        if (gradient := tensor.gradient) is not None:
            for loss in possible(gradient.loss, event.where):
                if isinstance(loss, values.Tensor) and loss.reduced is not None:
                    yield gradient, loss.reduced


def _is_another_call(one: Where, other: Where) -> bool:
    """Whether one run of the program has both moments, through different calls."""
    ways = [[caller.site for caller in callers(where.caller)] for where in (one, other)]
    return together(one, other) and ways[0] != ways[1]


def _problem(reduced: values.Reduced, keras_3: bool) -> str:
    if reduced.how == "mean":
        return "the loss is averaged over the replica's own batch only"
    if reduced.how == "sum":
        return "the loss is summed over the replica's own batch and never divided by the global batch size"
    if reduced.how == "none":
        return "the losses of the replica's examples are neither averaged nor divided by the global batch size"
    if reduced.how == "default" and not keras_3:
        return "a Keras 2 loss object with its default reduction raises in a replica function"
    return ""
