"""GPU203."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, together
from gpulint.plugin.words import STRATEGY_WORDS


class StrategyUnused(Rule):
    """Strategy created and never used

    ## What it does
    Finds a multi-replica strategy that is neither entered, run, passed on, returned, stored nor set as the
    default, in a program that trains.

    ## Why is this bad
    Creating a strategy changes nothing by itself: training runs on one GPU, and the others reserve memory and idle.

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
    `tf.distribute.experimental_set_strategy`, modules that only create it, and training that precedes it or that uses
    another strategy.

    ## At run time
    One replica.
    """

    code = "GPU203"
    name = "strategy-unused"
    severity = Severity.WARNING
    any_of_names = STRATEGY_WORDS
    why = "training runs on one GPU: a strategy that is never entered changes nothing"
    instead = "build and compile the model inside `with strategy.scope():`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        if not plan.is_complete:
            return
        used = {event.strategy.site for event in self.all(events.StrategyUsed) if event.how != "attribute"}
        built = [event for event in self.all(events.StrategyBuilt) if event.strategy.is_multi_replica]
        for event in built:
            if event.strategy.site not in used and self._trains_after(event):
                yield Report(event.site, "the strategy is never entered", confidence=confidence(event.where))

    def _trains_after(self, built: events.StrategyBuilt) -> bool:
        """Whether a model is trained outside all strategies after this one was created."""
        kinds = (events.StrategyBuilt, events.ModelFitted, events.GradientsApplied, events.StateUpdated)
        later = dropwhile(lambda event: event is not built, self.all(*kinds))
        return any(_trains_outside(event) and together(built.where, event.where) for event in later)


def _trains_outside(event: events.Event) -> bool:
    if isinstance(event, events.ModelFitted):
        return event.model.where.context.is_outside
    if isinstance(event, events.StateUpdated):
        return event.is_move and event.where.context.is_outside
    return isinstance(event, events.GradientsApplied) and event.where.context.is_outside
