"""GPU202."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import (
    Offer,
    Plan,
    Report,
    Rule,
    Severity,
    Site,
    confidence,
    events,
    possible,
    together,
    unsafe,
    values,
)
from gpulint.plugin.facts import FIRST_WITH_VARIABLES, LEGACY_OPTIMIZERS
from gpulint.plugin.fixes import scopes
from gpulint.plugin.queries import blamed, predates_keras_3, trained_models
from gpulint.plugin.words import STRATEGY_WORDS


class OptimizerOutsideScope(Rule):
    """Optimizer created outside the strategy scope

    ## What it does
    Finds an optimizer object created with no strategy in force and then used with a model that was created under a
    strategy, or whose variables are created when replicas first call it. Also finds `compile` outside the scope with an
    optimizer given by name (Keras creates the object there).

    ## Why is this bad
    The optimizer's slots are variables of the strategy in force when it is created. Used with a model of another one,
    Keras 3 raises "Mixing different tf.distribute.Strategy objects". SGD without momentum has no slots and does not
    raise, but its step counter is one variable that every replica increments: 12 after 6 steps on two replicas, so that
    a schedule runs twice as fast (TensorFlow 2.16 and 2.21).

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    optimizer = tf.keras.optimizers.Adam()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer=optimizer, loss="mse")
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.Adam()
        model.compile(optimizer=optimizer, loss="mse")
    ```

    ## What is not reported
    `compile` after the scope with an optimizer object created inside it; optimizers created by a helper that is called
    in the scope; a script that compiles with a name and never trains; `compile` without an optimizer on a model class
    of the program; `keras.optimizers.legacy` and all optimizers before 2.11, whose variables are created later; and
    names of optimizers on Keras 2, where `compile` enters the scope itself: before TensorFlow 2.16, on `tf_keras`, and
    in programs that use, without a check, what was removed after 2.0 and up to 2.16.

    ## Fix
    Unsafe: puts the statement that creates the optimizer, or the `compile`, into `with strategy.scope():`, if the
    strategy has a name there.

    ## At run time
    The error message.
    """

    code = "GPU202"
    name = "optimizer-outside-scope"
    severity = Severity.ERROR
    raises = True
    any_of_names = STRATEGY_WORDS
    why = "Keras raises RuntimeError: the model belongs to the strategy, but the optimizer does not"
    instead = "create it inside `with strategy.scope():`"

    def __init__(self) -> None:
        self._applied: list[tuple[events.GradientsApplied, values.Optimizer, values.Strategy]] = []
        self._models: list[values.Model] = []
        self._made: list[tuple[values.Model, values.Strategy]] = []
        """Models whose variables are created by replicas."""
        self._compiled: list[events.ModelCompiled] = []

    def on_model_built(self, event: events.ModelBuilt, plan: Plan) -> None:
        self._models.append(event.model)

    def on_model_called(self, event: events.ModelCalled, plan: Plan) -> None:
        replica = event.where.context.replica
        if replica is not None and event.built == "no" and event.how == "call":
            self._made.append((event.model, replica.strategy))

    def on_model_compiled(self, event: events.ModelCompiled, plan: Plan) -> Iterator[Report]:
        strategy = event.model.where.context.strategy
        if strategy is None or not strategy.is_multi_replica or event.arguments.open:
            return
        given = event.arguments.get("optimizer", 0)
        if event.where.context.is_outside and (
            (given is None and event.model.cls is None)
            or (isinstance(given, values.Constant) and isinstance(given.value, str))
        ):
            if plan.runs_keras_3 and not predates_keras_3(plan) and together(event.where, event.model.where):
                self._compiled.append(event)
        for optimizer in possible(given, event.where):
            if isinstance(optimizer, values.Optimizer):
                yield from self._outside(event, optimizer, strategy, plan)

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> None:
        replica = event.where.context.replica
        if replica is not None and isinstance(event.optimizer, values.Optimizer):
            self._applied.append((event, event.optimizer, replica.strategy))

    def on_end(self, plan: Plan) -> Iterator[Report]:
        trained = trained_models(plan)
        for compiled in self._compiled:
            own = compiled.model.where.context.strategy
            if compiled.model in trained or compiled.where.caller.function:
                yield Report(
                    compiled.site,
                    "`compile` creates the optimizer outside the scope of the model's strategy",
                    instead=f"call `compile` inside `with {self._name(own, compiled.site)}.scope():`",
                    confidence=confidence(compiled.where, compiled.model.where),
                    related=(
                        (compiled.model.site, "the model is created in the strategy's scope here"),
                        *(((own.site, "the strategy is created here"),) if own is not None else ()),
                    ),
                    fix=_in_scope(compiled.site, own, "Call `compile`"),
                )
        for event, optimizer, strategy in self._applied:
            models = [model for model in self._models if together(event.where, model.where)]
            if not models or any(self._belongs(model, strategy) for model in models):
                yield from self._outside(event, optimizer, strategy, plan)

    def _belongs(self, model: values.Model, strategy: values.Strategy) -> bool:
        """Whether the variables of a model belong to a strategy: the model was created, or first called, under it."""
        return model.where.context.strategy is strategy or (model, strategy) in self._made

    def _outside(
        self, event: events.Event, optimizer: values.Optimizer, strategy: values.Strategy, plan: Plan
    ) -> Iterator[Report]:
        if optimizer.library.startswith(LEGACY_OPTIMIZERS) or plan.release_of_target < FIRST_WITH_VARIABLES:
            return
        if optimizer.where.context.is_outside and together(event.where, optimizer.where, strategy.where):
            place = blamed(optimizer, strategy)
            yield Report(
                place,
                "the optimizer is created outside the scope of the model's strategy",
                why=""
                if optimizer.has_slots
                else "every replica increments its only step counter, so learning-rate schedules run N times too fast",
                instead=f"create it inside `with {self._name(strategy, place)}.scope():`",
                confidence=confidence(event.where, optimizer.where, strategy.where),
                related=((strategy.site, "the strategy is created here"), (event.site, "the optimizer is used here")),
                fix=_in_scope(place, strategy),
            )

    def _name(self, strategy: values.Strategy | None, place: Site) -> str:
        return self.name_of(strategy.site, place, "strategy") if strategy is not None else "strategy"


def _in_scope(place: Site, strategy: values.Strategy | None, what: str = "Create it") -> Offer | None:
    if strategy is None:
        return None
    offer = unsafe(f"{what} inside `strategy.scope()`", scopes.in_scope, place, strategy.site, frozenset())
    return offer.one_at_a_time("scope")
