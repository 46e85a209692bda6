"""GPU208."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, Where, confidence, events, possible, together, values
from gpulint.plugin.queries import callers, symbol_of
from gpulint.plugin.symbols import Symbol
from gpulint.plugin.words import STRATEGY_WORDS


class LossNotAveraged(Rule):
    """Per-replica mean or sum of the loss

    ## What it does
    Finds, in a replica function, gradients of a loss that was averaged or summed over the replica's own batch and never
    divided by the global batch size or the number of replicas, or of per-example losses (`Reduction.NONE`, functions
    such as `keras.losses.mean_squared_error`), which TensorFlow sums. A mean is also found as one term of a loss whose
    other terms are right, with or without a weight (`0.1 *`, `LAMBDA *`, `config.l1_weight *`), and with a mask
    (`tf.cast(tf.not_equal(y, 0), tf.float32) *`).

    Further, a loss function for `compile` that returns one number, such as a dice loss: Keras 3 divides by the number
    of replicas only where there is one loss for each example (two replicas: a step twice as large, run on Keras 3.15).
    And `compute_average_loss` with the size of one replica's batch where the batches are global, or the other way
    round.

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
    why = "gradients are summed over the replicas: with N replicas, every gradient is N times too large"
    instead = "divide by the global batch size: `tf.nn.compute_average_loss(per_example, global_batch_size=…)`"

    def on_loss_compiled(self, event: events.LossCompiled, plan: Plan) -> Iterator[Report]:
        """Report losses for `compile` that return one number. Keras 3 divides only losses of single examples."""
        for loss in possible(event.result, event.where) if plan.runs_keras_3 else ():
            reduced = loss.reduced if isinstance(loss, values.Tensor) else None
            if reduced is not None and reduced.is_number and reduced.how in ("mean", "sum"):
                yield Report(
                    reduced.site,
                    "a `compile` loss that returns one number per replica is not divided by the number of replicas",
                    instead="return one loss for each example: reduce over all axes but the first",
                    confidence=confidence(event.where, event.strategy.where),
                    related=((event.site, "the model is compiled with it here"),),
                )

    def _of_wrong_sizes(self) -> Iterator[Report]:
        """Report averages over the batch of one replica if the dataset has global batches, and the other way round."""
        batches = [
            (event, dataset.batch)
            for event in self.all(events.DatasetDistributed)
            for dataset in possible(event.dataset, event.where)
            if isinstance(dataset, values.Dataset) and dataset.batch is not None and not dataset.batch.evaluates
        ]
        if not batches or any(event.how != "experimental_distribute_dataset" for event, _ in batches):
            return
        for used in self.all(events.GlobalSizeUsed):
            replica = used.where.context.replica
            given = [
                batch
                for event, batch in batches
                if replica is not None and replica.strategy is event.strategy and together(used.where, event.where)
            ]
            for size in possible(used.size, used.where) if used.averages else ():
                if any(symbol_of(batch.size) == symbol_of(size) for batch in given):
                    continue
                large = [batch for batch in given if _is_scaled(batch.size, size)]
                small = [batch for batch in given if _is_scaled(size, batch.size)]
                if large or small:
                    yield Report(
                        used.site,
                        "the loss is divided by the batch of one replica, and batches are global"
                        if large
                        else "the loss is divided by a global batch size that is larger than the batches",
                        why="with N replicas, every gradient is N times too large"
                        if large
                        else "with N replicas, every gradient is N times too small",
                        instead="divide by the size that is passed to `batch`",
                        confidence=confidence(used.where),
                        related=(((large or small)[0].site, "the batches are created here"),),
                    )

    def _instead(self, mean: Site) -> str:
        """What to divide instead, with the name of what a mean such as `tf.reduce_mean(losses)` is taken of."""
        import libcst as cst  # slow to import, and seldom needed

        node = self.node(mean)
        given = [one.value for one in node.args] if isinstance(node, cst.Call) else []
        name = given[0].value if len(given) == 1 and isinstance(given[0], cst.Name) else "per_example"
        return self.instead.replace("per_example", name)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        """Report losses that are not scaled.

        A loss that is scaled on another path is left to its author, unless another call of the same function scales it.
        """
        yield from self._of_wrong_sizes()
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
        found: dict[tuple[Site, str], dict[Site, events.GradientsApplied]] = defaultdict(dict)
        """Steps by the site of the reduction, for each gradient and problem: a loss may have several ways."""
        for event, gradient, reduced, text in suspects:
            if all(_is_another_call(event.where, one) for one in scaled[event.site]):
                found[gradient.site, text].setdefault(reduced.site, event)
        for (taken, text), reductions in found.items():
            (first, event), *others = reductions.items()
            replica = event.where.context.replica
            if replica is not None:
                yield Report(
                    first,
                    text,
                    instead=self._instead(reduced.site),
                    confidence=confidence(event.where, replica.strategy.where),
                    related=(
                        (taken, "the gradient of the loss is taken here"),
                        (replica.site, "each replica runs this function"),
                        *((other, "the loss is computed here, too") for other, _ in others),
                    ),
                )


def _is_scaled(size: values.Value, by_replica: values.Value) -> bool:
    """Whether a size is another one times the number of replicas."""
    parts = symbol_of(size).parts
    factors = parts[2:] if parts[:2] == ("binary", "*") else ()
    is_number = [isinstance(one, Symbol) and one.parts[0] == "replicas" for one in factors]
    return True in is_number and symbol_of(by_replica) in factors


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
        return "a Keras 2 loss object with its default reduction fails in a replica function"
    return ""
