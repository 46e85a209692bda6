"""GPU216."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, possible, together, values
from gpulint.plugin.words import STRATEGY_WORDS


class AccumulationUnderStrategy(Rule):
    """Keras's gradient accumulation under a multi-replica strategy

    ## What it does
    Finds an optimizer with `gradient_accumulation_steps` that trains under a multi-replica strategy.

    ## Why is this bad
    It raises RuntimeError "`merge_call` called while defining a new graph or a tf.function" at the first step, in `fit`
    and in a custom training loop: the optimizer decides in a `tf.cond` whether to apply, and no strategy can merge its
    replicas inside that. Run with one and two replicas on Keras 3.3 and 3.15
    (`benchmarks/experiments/accumulation.py`).

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer=tf.keras.optimizers.SGD(gradient_accumulation_steps=4), loss="mse")
    model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)), batch_size=8 * strategy.num_replicas_in_sync)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer=tf.keras.optimizers.SGD(), loss="mse")
    model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)), batch_size=8 * strategy.num_replicas_in_sync)
    ```

    ## What is not reported
    An unknown number of steps, one step, other strategies.

    ## At run time
    The error message.
    """

    code = "GPU216"
    name = "accumulation-under-strategy"
    severity = Severity.ERROR
    any_of_names = STRATEGY_WORDS
    all_of_name_sets = (frozenset({"gradient_accumulation_steps"}),)
    why = "it raises at the first step: the replicas cannot be merged inside the optimizer's condition"
    instead = "use a larger batch per replica, or accumulate in your own variables"

    def __init__(self) -> None:
        self._compiled: dict[int, list[values.Value]] = {}

    def on_model_compiled(self, event: events.ModelCompiled, plan: Plan) -> None:
        self._compiled[id(event.model)] = possible(event.arguments.get("optimizer", 0), event.where)

    def on_model_fitted(self, event: events.ModelFitted, plan: Plan) -> Iterator[Report]:
        strategy = event.model.where.context.strategy
        for optimizer in self._compiled.get(id(event.model), ()):
            yield from _raises(optimizer, strategy, event)

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> Iterator[Report]:
        if event.where.context.replica is not None:
            yield from _raises(event.optimizer, event.where.context.replica.strategy, event)


def _raises(optimizer: values.Value, strategy: values.Strategy | None, event: events.Event) -> Iterator[Report]:
    if not isinstance(optimizer, values.Optimizer) or not optimizer.accumulates or strategy is None:
        return
    if strategy.kind in ("mirrored", "multi_worker") and together(event.where, optimizer.where, strategy.where):
        yield Report(
            optimizer.site,
            "this optimizer accumulates gradients, which raises under a multi-replica strategy",
            confidence=confidence(event.where, strategy.where),
            related=((strategy.site, "the strategy is created here"), (event.site, "the model is trained here")),
        )
