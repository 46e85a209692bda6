"""GPU215."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, possible, together, unsafe, values
from gpulint.plugin.fixes import calls
from gpulint.plugin.queries import trained_models
from gpulint.plugin.words import STRATEGY_WORDS


class RaisesUnderStrategy(Rule):
    """Setting that raises under a multi-replica strategy

    ## What it does
    Finds `jit_compile=True` under a multi-replica strategy on a model, on a function that calls `strategy.run`, or on
    one that applies gradients in a replica, also where XLA compiles it as part of another function; and an optimizer
    with `gradient_accumulation_steps` that trains under such a strategy (releases with Keras 3).

    ## Why is this bad
    Collectives between replicas and variables of other replicas do not compile with XLA: InvalidArgumentError on the
    first step of `fit` or `evaluate` (TensorFlow 2.21; tensorflow issue 56423, keras issue 18145). An optimizer that
    accumulates decides in a `tf.cond` whether to apply, and no strategy can merge its replicas inside that:
    RuntimeError "`merge_call` called while defining a new graph or a tf.function" at the first step. Run with one and
    two replicas on Keras 3.3 and 3.15 (`benchmarks/experiments/accumulation.py`).

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse", jit_compile=True)
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
    TPUs, strategies of one device, paths with one device, scripts that only predict, jitted functions that do not use
    the strategy, and jitted inner functions without collectives; an unknown number of steps to accumulate, or one, and
    accumulation in eager replicas, where it works.

    ## Fix
    Unsafe: removes `jit_compile=True`; for accumulation there is none. The step is then a TensorFlow graph that XLA
    does not compile.

    ## At run time
    The error message.
    """

    code = "GPU215"
    name = "raises-under-strategy"
    severity = Severity.ERROR
    raises = True
    in_one_replica = False
    any_of_names = STRATEGY_WORDS
    why = "the first step raises InvalidArgumentError: XLA cannot compile the communication between replicas"
    instead = "remove `jit_compile=True`, or compile only an inner function that applies no gradients"

    def __init__(self) -> None:
        self._compiled: list[events.ModelCompiled] = []
        self._optimizers: dict[int, list[values.Value]] = {}
        """Optimizers with which each model, by id, is compiled."""

    def on_model_compiled(self, event: events.ModelCompiled, plan: Plan) -> None:
        self._optimizers[id(event.model)] = possible(event.arguments.get("optimizer", 0), event.where)
        jit = event.arguments.get("jit_compile")
        if isinstance(jit, values.Constant) and jit.value is True:
            self._compiled.append(event)

    def on_model_fitted(self, event: events.ModelFitted, plan: Plan) -> Iterator[Report]:
        if plan.has_keras_3:
            for optimizer in self._optimizers.get(id(event.model), ()):
                yield from _accumulates(optimizer, event.model.where.context.strategy, event)

    def on_strategy_run(self, event: events.StrategyRun, plan: Plan) -> Iterator[Report]:
        yield from self._in_jitted(event, event.strategy)

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> Iterator[Report]:
        if event.where.context.replica is not None:
            strategy = event.where.context.replica.strategy
            yield from self._in_jitted(event, strategy)
            if plan.has_keras_3 and event.where.context.traced is not None:
                yield from _accumulates(event.optimizer, strategy, event)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        trained = trained_models(plan)
        for event in self._compiled:
            strategies = (event.model.where.context.strategy, event.where.context.strategy)
            strategy = next((one for one in strategies if _spans_gpus(one)), None)
            if event.model in trained or event.where.caller.function:
                yield from self._report(event, strategy, event.arguments.handed_on.get("jit_compile", event.site))

    def _in_jitted(self, event: events.Event, strategy: values.Strategy) -> Iterator[Report]:
        wrapped = event.where.context.jitted
        if wrapped is not None and _spans_gpus(strategy):
            yield from self._report(event, strategy, wrapped)

    def _report(self, event: events.Event, strategy: values.Strategy | None, place: Site) -> Iterator[Report]:
        if strategy is not None and together(event.where, strategy.where):
            yield Report(
                place,
                "`jit_compile=True` is set under a multi-replica strategy",
                instead=_OF_MODEL if isinstance(event, events.ModelCompiled) else "",
                confidence=confidence(event.where, strategy.where),
                related=((strategy.site, "the strategy is created here"),),
                fix=unsafe(
                    "Remove `jit_compile=True`: the step runs as an ordinary TensorFlow graph, without XLA",
                    calls.without_argument,
                    place,
                    "jit_compile",
                ),
            )


_OF_MODEL = "remove `jit_compile=True`: Keras leaves XLA off under a strategy"


def _spans_gpus(strategy: values.Strategy | None) -> bool:
    if strategy is None or not strategy.is_multi_replica or strategy.kind == "tpu" or strategy.alone:
        return False
    devices = strategy.devices
    return not (isinstance(devices, values.Items) and devices.items is not None and len(devices.items) == 1)


def _accumulates(optimizer: values.Value, strategy: values.Strategy | None, event: events.Event) -> Iterator[Report]:
    if not isinstance(optimizer, values.Optimizer) or not optimizer.accumulates or strategy is None:
        return
    if strategy.kind in ("mirrored", "multi_worker") and together(event.where, optimizer.where, strategy.where):
        yield Report(
            optimizer.site,
            "this optimizer accumulates gradients under a multi-replica strategy",
            why="the first step raises RuntimeError: Keras cannot accumulate the gradients of several replicas",
            instead="remove `gradient_accumulation_steps` and raise the batch size",
            confidence=confidence(event.where, strategy.where),
            related=((strategy.site, "the strategy is created here"), (event.site, "the model is trained here")),
        )
