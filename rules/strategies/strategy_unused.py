"""GPU203."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.api import STRATEGY_WORDS, Plan, Report, Rule, Severity, Site, confidence, events, together


class StrategyUnused(Rule):
    """Strategy made and never used

    ## What it does
    Finds a multi-replica strategy that is neither entered, run, passed on, returned, stored nor set as the
    default, in a program that trains.

    ## Why is this bad
    Making a strategy changes nothing by itself: training runs on one GPU, and the others hold memory and idle.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(tf.zeros((8, 1)), tf.zeros((8, 1)))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
    model.fit(tf.zeros((8, 1)), tf.zeros((8, 1)))
    ```

    ## What is not reported
    Factories that return it, configurations that take it, attributes that others read,
    `tf.distribute.experimental_set_strategy`, modules that only make it, and training that came before it or that
    another strategy does.

    ## At run time
    One replica.
    """

    code = "GPU203"
    name = "strategy-unused"
    severity = Severity.WARNING
    speaks_of = STRATEGY_WORDS
    why = "training runs on one GPU: a strategy that is never entered changes nothing"
    instead = "build and compile the model inside `with strategy.scope():`"

    def __init__(self) -> None:
        self._built: list[events.StrategyBuilt] = []
        self._used: set[Site] = set()
        self._training: list[tuple[int, events.Event]] = []

    def on_strategy_built(self, event: events.StrategyBuilt, plan: Plan) -> None:
        if event.strategy.is_multi_replica:
            self._built.append(event)

    def on_strategy_used(self, event: events.StrategyUsed, plan: Plan) -> None:
        if event.how != "attribute":
            self._used.add(event.strategy.site)

    def on_model_fitted(self, event: events.ModelFitted, plan: Plan) -> None:
        if event.model.where.context.is_outside:
            self._train(event)

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> None:
        if event.where.context.is_outside:
            self._train(event)

    def on_state_updated(self, event: events.StateUpdated, plan: Plan) -> None:
        if event.is_move and event.where.context.is_outside:
            self._train(event)

    def _train(self, event: events.Event) -> None:
        self._training.append((len(self._built), event))

    def on_end(self, plan: Plan) -> Iterator[Report]:
        if not plan.is_complete:
            return
        for number, event in enumerate(self._built):
            trains = any(made > number and together(event.where, other.where) for made, other in self._training)
            if event.strategy.site not in self._used and trains:
                yield Report(event.site, "the strategy is never entered", confidence=confidence(event.where))
