"""GPU210."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.api import (
    STRATEGY_WORDS,
    Plan,
    Replica,
    Report,
    Rule,
    Severity,
    Site,
    confidence,
    events,
    together,
    values,
)


class TwoStrategies(Rule):
    """Objects of one strategy used under another

    ## What it does
    Finds a model compiled, fitted, evaluated, saved, copied or asked for its weights under a strategy other than the
    one that it was made under; an optimizer, metric or variable of one strategy that another one's replicas change,
    or that is compiled into another one's model; a model that another one's replicas train; and a scope entered
    inside another strategy's.

    ## Why is this bad
    Variables belong to one strategy: TensorFlow raises ("Mixing different tf.distribute.Strategy objects",
    TensorFlow 2.16 to 2.21). Compiling passes, and the `fit` or `evaluate` that follows raises.

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
    strategy; calling the model on data and running it in another one's replicas, which works; weights that are
    taken outside every scope and set inside another one.

    ## At run time
    The error's text.
    """

    code = "GPU210"
    name = "two-strategies"
    severity = Severity.ERROR
    raises = True
    speaks_of = STRATEGY_WORDS
    why = "TensorFlow raises: variables belong to the strategy that they were made under"
    instead = "make one strategy and use it for everything"

    def __init__(self) -> None:
        self._trained: dict[Replica, list[values.Model]] = defaultdict(list)
        self._applied: list[events.GradientsApplied] = []

    def on_scope_entered(self, event: events.ScopeEntered, plan: Plan) -> Iterator[Report]:
        scopes = event.where.context.scopes
        if not event.escaped and len(scopes) > 1:
            outer = scopes[-2].strategy
            yield from _mixed(event, outer, event.strategy, "a scope is entered inside that of another strategy", ())

    def on_model_compiled(self, event: events.ModelCompiled, plan: Plan) -> Iterator[Report]:
        yield from _used(event, event.model)
        for value in event.arguments.all():
            items = value.items if isinstance(value, values.Items) else (value,)
            for item in items or ():
                if isinstance(item, (values.Optimizer, values.Metric)):
                    yield from _used(event, item, event.model.where.context.strategy)

    def on_model_fitted(self, event: events.ModelFitted, plan: Plan) -> Iterator[Report]:
        yield from _used(event, event.model)

    def on_model_called(self, event: events.ModelCalled, plan: Plan) -> Iterator[Report]:
        replica = event.where.context.replica
        if event.how == "variables" and replica is not None:
            self._trained[replica].append(event.model)
        elif event.how not in ("call", "variables") and replica is None:
            yield from _used(event, event.model)

    def on_weights_used(self, event: events.WeightsUsed, plan: Plan) -> Iterator[Report]:
        yield from _used(event, event.owner)

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> Iterator[Report]:
        self._applied.append(event)
        yield from _used(event, event.optimizer)

    def on_state_updated(self, event: events.StateUpdated, plan: Plan) -> Iterator[Report]:
        yield from _used(event, event.target)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        for event in self._applied:
            replica = event.where.context.replica
            models = self._trained[replica] if replica is not None else []
            if len({id(model) for model in models}) == 1 and not list(_used(event, event.optimizer)):
                yield from _used(event, models[0])


def _used(event: events.Event, used: values.Object, now: values.Strategy | None = None) -> Iterator[Report]:
    """A report if something is used under another strategy than its own: by default the one in force."""
    now = now or event.where.context.strategy
    made = used.where.context.strategy
    if made is not None and now is not None and together(event.where, used.where):
        text = "made under one strategy and used under another"
        yield from _mixed(event, made, now, text, ((used.site, "it is made here"),))


def _mixed(
    event: events.Event,
    made: values.Strategy,
    now: values.Strategy,
    message: str,
    related: tuple[tuple[Site, str], ...],
) -> Iterator[Report]:
    if made is now or "default" in (made.kind, now.kind) or not together(event.where, made.where, now.where):
        return
    yield Report(
        event.site,
        message,
        confidence=confidence(event.where, made.where),
        related=(*related, (made.site, "under this one"), (now.site, "and used under this one")),
    )
