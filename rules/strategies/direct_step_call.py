"""GPU206."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.plugin import (
    Draft,
    Edit,
    Plan,
    Refused,
    Report,
    Rule,
    Severity,
    Site,
    Where,
    confidence,
    events,
    together,
    unsafe,
    values,
)
from gpulint.plugin.fixes import calls, names, statements
from gpulint.plugin.queries import callers
from gpulint.plugin.words import STRATEGY_WORDS


class DirectStepCall(Rule):
    """Training step called outside strategy.run

    ## What it does
    Finds a step that applies gradients with an optimizer, or to a model, created under a multi-replica strategy, and
    that is called directly instead of through `strategy.run`.

    ## Why is this bad
    The step runs once, on one replica: the other GPUs idle. If the optimizer was created outside the scope (GPU202), or
    has not created its variables yet, it fails.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        weight = tf.Variable(1.0)
        optimizer = tf.keras.optimizers.SGD()


    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = weight * x
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])


    for x in tf.data.Dataset.from_tensor_slices(tf.zeros(64)).batch(4):
        train_step(x)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        weight = tf.Variable(1.0)
        optimizer = tf.keras.optimizers.SGD()


    def train_step(x):
        with tf.GradientTape() as tape:
            loss = weight * x
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])


    @tf.function
    def distributed_step(x):
        strategy.run(train_step, args=(x,))


    for x in strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(tf.zeros(64)).batch(4)):
        distributed_step(x)
    ```

    ## What is not reported
    Steps called inside the function passed to `strategy.run`, the `train_step` that `fit` calls, steps that the program
    does not call, evaluation, and the path without a strategy.

    ## Fix
    Unsafe, if the result of the step is not used: calls it as `strategy.run(step, args=(batch,))`. Every replica then
    takes a step; the data must be distributed (GPU205).

    ## At run time
    One replica.
    """

    code = "GPU206"
    name = "direct-step-call"
    severity = Severity.WARNING
    in_one_replica = False
    any_of_names = STRATEGY_WORDS
    why = "the step runs on one GPU, and the others sit idle"
    instead = "call the step as `strategy.run(step, args=(batch,))`"

    def __init__(self) -> None:
        self._trained: dict[int, list[values.Model]] = defaultdict(list)
        """Models whose variables a run of a function reads, by the identity of its `Caller`."""
        self._runs: set[Site] = set()
        """Places where a strategy runs a function, or may. Without a strategy the function is called there directly."""
        self._fits: set[Site] = set()
        """Places where Keras calls the `train_step` of a model."""

    def on_model_fitted(self, event: events.ModelFitted, plan: Plan) -> None:
        self._fits.add(event.site)

    def on_strategy_run(self, event: events.StrategyRun, plan: Plan) -> None:
        self._runs.add(event.site)

    def on_model_called(self, event: events.ModelCalled, plan: Plan) -> None:
        if event.how == "variables":
            self._trained[id(event.where.caller)].append(event.model)

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> Iterator[Report]:
        made = self._origin(event)
        strategy = made.context.strategy
        caller = event.where.caller
        if strategy is None or not strategy.is_multi_replica or event.where.context.replica is not None:
            return
        if not event.gradients or not together(event.where, made, strategy.where):
            return
        is_step = caller.site is not None and caller.loops == len(event.where.context.loops)
        if not caller.known and (caller.site is None or (is_step and caller.site == caller.definition)):
            return
        if caller.site in self._runs or any(one.site in self._fits for one in callers(caller)):
            return
        yield Report(
            caller.site if is_step and caller.site is not None else event.site,
            f"`{caller.function}` is called directly, not through `strategy.run`"
            if is_step
            else "gradients are applied outside `strategy.run`",
            instead=self._through_run(caller.site) if is_step and caller.site is not None else "",
            confidence=confidence(event.where, strategy.where),
            related=((strategy.site, "the strategy is created here"), (event.site, "gradients are applied here")),
            fix=unsafe(_FIX, _run, caller.site, strategy.site) if is_step and caller.site is not None else None,
        )

    def _through_run(self, site: Site) -> str:
        """Help that spells out the call through `strategy.run`; "" if that would be long."""
        import libcst as cst  # slow to import, and seldom needed

        call = self.node(site)
        if not isinstance(call, cst.Call) or any(one.keyword is not None or one.star for one in call.args):
            return ""
        function, *given = (self.source(one) for one in (call.func, *(one.value for one in call.args)))
        arguments = f", args=({', '.join(given)}{',' if len(given) == 1 else ''})" if given else ""
        text = f"call it as `strategy.run({function}{arguments})`, with batches of a distributed dataset"
        return text if len(text) <= SHORT else ""

    def _origin(self, event: events.GradientsApplied) -> Where:
        """Where the optimizer was created; if that is outside all scopes, where the models it trains were."""
        optimizer = event.optimizer.where
        taken = [one.gradient.where for one in event.gradients if one.gradient is not None]
        models = [model for where in (event.where, *taken) for model in self._trained.get(id(where.caller), ())]
        strategies = {model.where.context.strategy for model in models}
        return models[0].where if optimizer.context.is_outside and len(strategies) == 1 else optimizer


_FIX = "Call the step through `strategy.run`: every replica takes a step, and the gradients are summed"

SHORT = 120
"""Maximum number of characters of a help that repeats the code."""


def _run(draft: Draft, site: Site, strategy: Site) -> list[Edit]:
    """Replace `step(x)`, whose result is unused, with `strategy.run(step, args=(x,))`."""
    call = calls.call_around(draft, site)
    if not statements.is_whole(draft, call):
        raise Refused("the result is used, and would be a value per replica")
    if any(given.star or given.keyword for given in call.arguments):
        raise Refused("arguments are passed by keyword")
    name = names.variable(draft, strategy, call)
    given = [draft.source(one) for one in call.arguments]
    arguments = f", args=({', '.join(given)}{',' if len(given) == 1 else ''})" if given else ""
    return [draft.rewrite(call, f"{name}.run({draft.source(call.function)}{arguments})")]
