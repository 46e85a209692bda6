"""GPU201."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint.plugin import Plan, Report, Rule, Severity, Site, Where, confidence, events, together, unsafe, values
from gpulint.plugin.facts import LOADS_MODEL
from gpulint.plugin.fixes import scopes
from gpulint.plugin.queries import blamed, callers, chain, leaves, makers
from gpulint.plugin.words import STRATEGY_WORDS


class ModelOutsideScope(Rule):
    """Model built outside the strategy scope

    ## What it does
    Finds Keras models that are created with no strategy in force although one exists on that path, and that are then
    compiled, fitted or used in a replica function. Also finds a model of `keras.applications`, or a loaded one, that is
    created outside and is a layer of a model created inside the scope. Helpers, methods and other modules are followed:
    the finding is at the call to move.

    ## Why is this bad
    A model's variables belong to the strategy in whose scope they are created. A model built outside the scope trains
    on one GPU, silently. If it is compiled inside the scope, `fit` raises ValueError (TensorFlow 2.16 to 2.21); if only
    `fit` is inside, RuntimeError. As a layer of a model created inside, it makes `fit` raise ValueError or
    AssertionError (by the optimizer); if it is frozen, its weights are copied to every GPU in each step.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    with strategy.scope():
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
    Models built by a helper that is called in the scope, the path without a strategy or with one replica, models that
    are never trained there, a second model trained on one device next to one trained under the strategy, a model whose
    constructor enters the scope itself, a model that has no variables before replicas call it (they create them under
    the strategy), and strategies with one replica.

    ## Fix
    Unsafe: puts the statements that build the model, and those that compile it, into `with strategy.scope():`, if the
    strategy has a name there. The model then trains on every replica.

    ## At run time
    Variables on one device only; one replica busy.
    """

    code = "GPU201"
    name = "model-outside-scope"
    severity = Severity.ERROR
    in_one_replica = False
    any_of_names = STRATEGY_WORDS
    why = "its variables live on one GPU and do not belong to the strategy"
    instead = "create it inside `with strategy.scope():`"

    def __init__(self) -> None:
        self._used: list[values.Strategy] = []
        self._built: set[int] = set()
        self._strategies: list[values.Strategy] = []
        self._strategies_before: dict[int, int] = {}
        """Models, by serial number → how many strategies the program had created before."""
        self._outside: list[events.ModelFitted] = []
        self._parts: list[tuple[values.Model, events.Event]] = []
        """Models that are layers of a model created in a scope, and where they become that."""
        self._trained: list[tuple[values.Strategy, Where]] = []
        self._called: list[tuple[events.ModelCalled, Report]] = []
        """Calls by replicas, with their reports."""
        self._scoping: set[Site | None] = set()
        self._unknown: list[events.UnknownFitted | events.ModelFitted] = []
        self._makers: frozenset[Site] | None = None

    def on_strategy_used(self, event: events.StrategyUsed, plan: Plan) -> None:
        if event.how != "attribute" and event.strategy.is_multi_replica and event.strategy not in self._used:
            self._used.append(event.strategy)

    def on_strategy_built(self, event: events.StrategyBuilt, plan: Plan) -> None:
        self._strategies.append(event.strategy)

    def on_scope_entered(self, event: events.ScopeEntered, plan: Plan) -> None:
        self._scoping |= {caller.site for caller in callers(event.where.caller)}

    def on_model_built(self, event: events.ModelBuilt, plan: Plan) -> None:
        self._built.add(event.model.serial)
        self._strategies_before[event.model.serial] = len(self._strategies)
        self._parts += [(part, event) for part in event.parts]

    def on_unknown_fitted(self, event: events.UnknownFitted, plan: Plan) -> None:
        self._unknown.append(event)

    def on_model_compiled(self, event: events.ModelCompiled, plan: Plan) -> Iterator[Report]:
        yield from self._inside(event, event.model, "compiled under the strategy", plan)

    def on_model_fitted(self, event: events.ModelFitted, plan: Plan) -> Iterator[Report]:
        if (own := event.model.where.context.strategy) is not None:
            self._trained.append((own, event.where))
        if event.where.context.is_outside and event.model.where.context.is_outside:
            self._outside.append(event)
        if event.model.serial not in self._built:
            self._unknown.append(event)
        yield from self._inside(event, event.model, "fitted under the strategy", plan)

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> None:
        if (now := event.where.context.strategy) is not None:
            self._trained.append((now, event.where))

    def on_model_called(self, event: events.ModelCalled, plan: Plan) -> None:
        if event.where.context.replica is not None and event.built == "outside":
            self._called += [(event, report) for report in self._inside(event, event.model, _USED, plan)]
        elif event.how == "call" and any(_is_symbolic(leaf) for one in event.arguments.all() for leaf in leaves(one)):
            self._parts.append((event.model, event))

    def on_end(self, plan: Plan) -> Iterator[Report]:
        updated = {event.where.context.replica for event in self.all(events.GradientsApplied)}
        for call, report in self._called:
            yield replace(report, why=_UPDATED) if call.where.context.replica in updated else report
        for part, event in self._parts:
            now = event.where.context.strategy
            if part.library.startswith(_PRETRAINED) and any(
                now is one and together(event.where, where) for one, where in self._trained
            ):
                yield from self._inside(event, part, "used in a model that trains under the strategy", plan)
        for event in self._outside:
            strategy = event.model.seen
            if (
                strategy is not None
                and strategy in self._used
                and not any(strategy is one and together(event.where, where) for one, where in self._trained)
                and not any(together(event.where, other.where) for other in self._unknown)
                and together(event.where, event.model.where, strategy.where)
            ):
                yield self._report(event, event.model, strategy, "fitted", plan)

    def _inside(self, event: events.Event, model: values.Model, how: str, plan: Plan) -> Iterator[Report]:
        strategy = event.where.context.strategy
        if (
            strategy is not None
            and strategy.is_multi_replica
            and model.where.context.is_outside
            and model.site not in self._scoping
            and together(event.where, model.where, strategy.where)
        ):
            yield self._report(event, model, strategy, how, plan)

    def _is_earlier(self, model: values.Model, strategy: values.Strategy) -> bool:
        """Whether a model was created before the strategy."""
        before = self._strategies_before.get(model.serial)
        return before is not None and strategy in self._strategies[before:]

    def _report(
        self, event: events.Event, model: values.Model, strategy: values.Strategy, how: str, plan: Plan
    ) -> Report:
        if self._makers is None:
            self._makers = makers(plan)
        place, is_unused = blamed(model, strategy), event.where.context.is_outside
        name = self.name_of(strategy.site, place, "strategy")
        related = [(strategy.site, "the strategy is created here"), (event.site, f"the model is {how} here")]
        if model.site != place:
            related.insert(0, (model.site, "the model is created here"))
        return Report(
            place,
            "the model is created and fitted outside `strategy.scope()`"
            if is_unused
            else f"the model is created outside `strategy.scope()` and {how}",
            instead=(_MOVE if self._is_earlier(model, strategy) else _CREATE).format(name),
            why=_UNUSED if is_unused else _WHY.get(how, ""),
            confidence=confidence(event.where, model.where, strategy.where),
            related=(*related, *chain(model.where, place)),
            fix=unsafe(
                "Create it inside `strategy.scope()`", scopes.in_scope, place, strategy.site, self._makers
            ).one_at_a_time("scope"),
        )


def _is_symbolic(value: values.Value) -> bool:
    return isinstance(value, values.Tensor) and value.symbolic


_PRETRAINED = ("tensorflow.keras.applications.", LOADS_MODEL)
"""Beginnings of the names of functions that create models with many variables."""

_CREATE = "create it inside `with {}.scope():`"

_MOVE = "create the strategy before the model, and the model inside `with {}.scope():`"

_UNUSED = "training runs on one GPU, and the others sit idle: the strategy has no effect"

_USED = "used by every replica"

_UPDATED = "its variables live on one GPU, so the step that applies gradients to them raises an error"

_WHY = {
    "compiled under the strategy": "its variables do not belong to the strategy, so `fit` raises ValueError",
    "fitted under the strategy": "its variables do not belong to the strategy, so `fit` raises RuntimeError",
    "used in a model that trains under the strategy": (
        "its variables do not belong to the strategy: `fit` raises ValueError or AssertionError; if they are frozen, "
        "each step copies them to every GPU"
    ),
    _USED: "its variables live on one GPU, and every step copies them to the others",
}
"""How a model is used under the strategy → what that causes (run on TensorFlow 2.21 with Keras 3.15)."""
