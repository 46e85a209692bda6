"""GPU210."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from gpulint.plugin import Plan, Replica, Report, Rule, Severity, Site, confidence, events, together, values
from gpulint.plugin.words import STRATEGY_WORDS


class TwoStrategies(Rule):
    """Objects of one strategy used under another

    ## What it does
    Finds a model compiled, fitted, evaluated, saved, copied or asked for its weights under a strategy other than the
    one it was created under; an optimizer, metric or variable of one strategy that another one's replicas change, or
    that is compiled into another one's model; a model that another one's replicas train; and a scope entered inside
    another strategy's.

    ## Why is this bad
    Variables belong to one strategy: TensorFlow raises ("Mixing different tf.distribute.Strategy objects",
    TensorFlow 2.16 to 2.21). Compiling passes, and the `fit` or `evaluate` that follows fails.

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
    One strategy chosen by `if` or `try` among several constructors; nested use of the same one; the default strategy;
    calling the model on data and running it in another one's replicas, which works; weights that are read outside every
    scope and set inside another one.

    ## At run time
    The error message.
    """

    code = "GPU210"
    name = "two-strategies"
    severity = Severity.ERROR
    raises = True
    any_of_names = STRATEGY_WORDS
    why = "TensorFlow raises RuntimeError: variables belong to the strategy they were created under"
    instead = "create it in the scope of the strategy that uses it, or use one strategy for everything"

    def __init__(self) -> None:
        self._trained: dict[Replica, list[values.Model]] = defaultdict(list)
        self._applied: list[events.GradientsApplied] = []
        self._mixed: list[_Mixed] = []
        self._choices: dict[tuple[Site, int], set[values.Strategy]] = defaultdict(set)
        """Strategies that one use in one run of a function may refer to. The program has one of them."""

    def on_strategy_used(self, event: events.StrategyUsed, plan: Plan) -> None:
        self._choices[event.site, id(event.where.caller)].add(event.strategy)

    def on_scope_entered(self, event: events.ScopeEntered, plan: Plan) -> None:
        scopes = event.where.context.scopes
        if not event.escaped and len(scopes) > 1:
            outer = scopes[-2].strategy
            text = "a scope is entered inside that of another strategy"
            self._meet(_Mixed(event, outer, event.strategy, text, ()))

    def on_model_compiled(self, event: events.ModelCompiled, plan: Plan) -> None:
        self._use(event, event.model)
        for value in event.arguments.all():
            items = value.items if isinstance(value, values.Items) else (value,)
            for item in items or ():
                if isinstance(item, (values.Optimizer, values.Metric)):
                    self._use(event, item, event.model.where.context.strategy)

    def on_model_fitted(self, event: events.ModelFitted, plan: Plan) -> None:
        self._use(event, event.model)

    def on_model_called(self, event: events.ModelCalled, plan: Plan) -> None:
        replica = event.where.context.replica
        if event.how == "variables" and replica is not None:
            self._trained[replica].append(event.model)
        elif event.how not in ("call", "variables") and replica is None:
            self._use(event, event.model)

    def on_weights_used(self, event: events.WeightsUsed, plan: Plan) -> None:
        self._use(event, event.owner)

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> None:
        self._applied.append(event)

    def on_state_updated(self, event: events.StateUpdated, plan: Plan) -> None:
        self._use(event, event.target)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        for event in self._applied:
            replica = event.where.context.replica
            models = self._trained[replica] if replica is not None else []
            if not self._use(event, event.optimizer) and len({id(model) for model in models}) == 1:
                self._use(event, models[0])
        for one in self._mixed:
            if not any({one.made, one.now} <= choice for choice in self._choices.values()):
                yield Report(
                    one.event.site,
                    one.message,
                    instead=one.instead,
                    confidence=confidence(one.event.where, one.made.where),
                    related=(
                        *one.related,
                        (one.made.site, "one strategy is created here"),
                        (one.now.site, "the other strategy is created here"),
                    ),
                )

    def _use(self, event: events.Event, used: values.Object, now: values.Strategy | None = None) -> bool:
        """Whether an object is used under a strategy other than its own; `now` is the one in force by default."""
        now = now or event.where.context.strategy
        made = used.where.context.strategy
        if made is None or now is None or not together(event.where, used.where):
            return False
        what = f"the {type(used).__name__.lower()}"
        reads = isinstance(event, events.WeightsUsed) and event.how == "get_weights"
        text = f"{what} is created under one strategy and {'its weights are read' if reads else 'used'} under another"
        related = ((used.site, f"{what} is created here"),)
        return self._meet(_Mixed(event, made, now, text, related, _READ_BEFORE if reads else ""))

    def _meet(self, mixed: _Mixed) -> bool:
        if is_certain := mixed.is_certain():
            self._mixed.append(mixed)
        return is_certain


_READ_BEFORE = "call `get_weights()` before the scope of the other strategy is entered"


class _Mixed(NamedTuple):
    """A place at which two strategies meet."""

    event: events.Event
    made: values.Strategy
    now: values.Strategy
    message: str
    related: tuple[tuple[Site, str], ...]
    instead: str = ""

    def is_certain(self) -> bool:
        if self.made is self.now or "default" in (self.made.kind, self.now.kind):
            return False
        return together(self.event.where, self.made.where, self.now.where)
