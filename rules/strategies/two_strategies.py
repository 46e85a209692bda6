"""GPU210."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.api import STRATEGY_WORDS, Plan, Report, Rule, Severity, confidence, events, together, values


class TwoStrategies(Rule):
    """Objects of one strategy used under another

    ## What it does
    Finds a model compiled, fitted or run under a strategy other than the one that it was made under.

    ## Why is this bad
    Variables belong to one strategy: TensorFlow raises ("Mixing different tf.distribute.Strategy objects").

    ## Example
    ```python
    import tensorflow as tf

    first = tf.distribute.MirroredStrategy()
    second = tf.distribute.MirroredStrategy()
    with first.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    with second.scope():
        model.compile(optimizer="adam", loss="mse")
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
    ```

    ## What is not reported
    One strategy chosen by `if` or `try` among several constructors, nested use of the same one, the default
    strategy.

    ## At run time
    The error's text.
    """

    code = "GPU210"
    name = "two-strategies"
    severity = Severity.ERROR
    speaks_of = STRATEGY_WORDS
    why = "TensorFlow raises: variables belong to the strategy that they were made under"
    instead = "make one strategy and use it for everything"

    def on_model_compiled(self, event: events.ModelCompiled, plan: Plan) -> Iterator[Report]:
        yield from self._check(event, event.model)

    def on_model_fitted(self, event: events.ModelFitted, plan: Plan) -> Iterator[Report]:
        yield from self._check(event, event.model)

    def on_model_called(self, event: events.ModelCalled, plan: Plan) -> Iterator[Report]:
        if event.where.context.replica is not None:
            yield from self._check(event, event.model)

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> Iterator[Report]:
        yield from self._check(event, event.optimizer)

    def _check(self, event: events.Event, used: values.Object) -> Iterator[Report]:
        made, now = used.where.context.strategy, event.where.context.strategy
        if made is None or now is None or made is now or "default" in (made.kind, now.kind):
            return
        if together(event.where, used.where, made.where, now.where):
            yield Report(
                event.site,
                "made under one strategy and used under another",
                confidence=confidence(event.where, used.where),
                related=(
                    (used.site, "it is made here"),
                    (made.site, "under this one"),
                    (now.site, "and used under this one"),
                ),
            )
