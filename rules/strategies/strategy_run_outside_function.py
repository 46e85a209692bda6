"""GPU207."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import (
    Draft,
    Edit,
    Plan,
    Report,
    Rule,
    Severity,
    Site,
    Where,
    confidence,
    events,
    possible,
    unsafe,
    values,
)
from gpulint.plugin.fixes import loops
from gpulint.plugin.queries import are_few, chain
from gpulint.plugin.words import STRATEGY_WORDS


class StrategyRunOutsideFunction(Rule):
    """strategy.run in eager mode

    ## What it does
    Finds `strategy.run(fn)` in a loop where neither a caller nor `fn` is a `tf.function`.

    ## Why is this bad
    Every operation of every replica is dispatched by Python, one after the other; TensorFlow itself logs "Using
    MirroredStrategy eagerly has significant overhead currently".
    Training steps of 3 and 12 Dense layers on two devices took 35 and 41 times as much processor time as in a
    `tf.function` (`benchmarks/experiments/eager_replicas.py`).

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()


    def step(x):
        return x + 1


    for x in strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(4)):
        strategy.run(step, args=(x,))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()


    def step(x):
        return x + 1


    @tf.function
    def distributed_step(x):
        return strategy.run(step, args=(x,))


    for x in strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(4)):
        distributed_step(x)
    ```

    ## What is not reported
    Callers that are traced anywhere in the call chain, functions wrapped later, functions behind a decorator unknown to
    gpulint, `fn` that is a `tf.function` itself or calls one (`train_on_batch` does), `fn` that computes nothing, and
    loops of at most ten iterations.

    ## Fix
    Unsafe: decorates the function that the loop calls with `@tf.function`, if all of it can be traced. If the loop
    itself calls `strategy.run` with names, the call moves into such a function. Python code of the step then runs when
    it is traced, not in every step. None where the optimizer is not built before, which raises in a `tf.function`
    (GPU217).

    ## At run time
    A log of eager operations for each replica.
    """

    code = "GPU207"
    name = "strategy-run-outside-function"
    severity = Severity.WARNING
    is_performance = True
    in_one_replica = False
    any_of_names = STRATEGY_WORDS
    why = "Python dispatches every operation of every replica one by one, and the GPUs sit idle between them"
    instead = "call it from a function decorated with `@tf.function`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        eager = [
            event
            for event in self.all(events.StrategyRun)
            if event.strategy.is_multi_replica
            and not are_few(event.where.context.loops)
            and not event.where.context.may_be_traced
            and all(_is_plain(function) for function in possible(event.function, event.where))
        ]
        if not eager:
            return
        works = {
            event.where.context.replica.site
            for event in self.all(events.OpCalled, events.ModelCalled, events.GradientsApplied)
            if event.where.context.replica is not None
        }
        traced_inside = {event.site for event in self.all(events.StrategyRun) if event.where.context.traced is not None}
        traced_inside |= {
            event.where.context.replica.site
            for event in self.all(events.TracedCalled, events.ModelCalled)
            if event.where.context.replica is not None
            and (isinstance(event, events.TracedCalled) or event.how in _COMPILED)
        }
        creating = {
            event.where.context.replica.site
            for event in self.all(events.GradientsApplied)
            if event.creates and event.where.context.replica is not None and plan.runs_keras_3
        }
        for event in eager:
            if event.site in works and event.site not in traced_inside:
                unbuilt = event.site in creating
                yield Report(
                    event.site,
                    "`strategy.run` is called in a loop, outside any `tf.function`",
                    confidence=confidence(event.where, event.strategy.where),
                    related=((event.strategy.site, "the strategy is created here"), *chain(event.where)),
                    instead=_help(event.where, unbuilt),
                    fix=unsafe(
                        "Run it in a `tf.function`: the step's Python code then runs only while the step is traced",
                        _compiled,
                        event.site,
                        event.strategy.site,
                        _called_in_loop(event.where),
                    )
                    if not unbuilt
                    else None,
                )


def _help(where: Where, unbuilt: bool) -> str:
    """How to compile the step. If the optimizer has no variables yet, a `tf.function` alone would raise (GPU217)."""
    is_called = _called_in_loop(where) is not None and where.caller.function
    what = f"decorate `{where.caller.function}`" if is_called else "call it from a function decorated"
    first = (
        "; build the optimizer in the strategy's scope first (`optimizer.build(model.trainable_variables)`): otherwise "
        "the first step raises an error"
    )
    return f"{what} with `@tf.function`{first if unbuilt else ''}"


_COMPILED = frozenset({"predict", "evaluate", "predict_on_batch", "test_on_batch", "train_on_batch"})
"""Methods of a model that run functions compiled by Keras."""


def _called_in_loop(where: Where) -> Site | None:
    """Function that contains a place, if a loop outside it calls it."""
    return where.caller.definition if where.caller.loops == len(where.context.loops) else None


def _compiled(draft: Draft, run: Site, strategy: Site, function: Site | None) -> list[Edit]:
    """Decorate the function that a loop calls. If the loop itself runs the step, move it into a new function."""
    if function is None:
        return loops.compiled_call(draft, run, strategy)
    return loops.compiled(draft, function)


def _is_plain(function: values.Value) -> bool:
    """Whether the value is a function of the program that nothing wraps."""
    if isinstance(function, values.Bound):
        return isinstance(function.method, values.Value) and _is_plain(function.method)
    if isinstance(function, values.Partial):
        return _is_plain(function.function)
    return isinstance(function, values.Function) and not function.opaque
