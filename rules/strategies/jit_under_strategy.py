"""GPU215."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, together, unsafe, values
from gpulint.plugin.fixes import calls
from gpulint.plugin.queries import trained_models
from gpulint.plugin.words import STRATEGY_WORDS


class JitUnderStrategy(Rule):
    """jit_compile under a multi-replica strategy

    ## What it does
    Finds `jit_compile=True` under a multi-replica strategy on a model, on a function that calls `strategy.run`, or on
    one that applies gradients in a replica, also where XLA compiles it as part of another function.

    ## Why is this bad
    Collectives between replicas and variables of other replicas do not compile with XLA: InvalidArgumentError on the
    first step of `fit` or `evaluate` (TensorFlow 2.21; tensorflow issue 56423, keras issue 18145).

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
    the strategy, and jitted inner functions without collectives.

    ## Fix
    Unsafe: removes `jit_compile=True`. The step is then a TensorFlow graph that XLA does not compile.

    ## At run time
    The error message.
    """

    code = "GPU215"
    name = "jit-under-strategy"
    severity = Severity.ERROR
    in_one_replica = False
    any_of_names = STRATEGY_WORDS
    why = "collectives between replicas do not compile with XLA: the first step raises"
    instead = "turn `jit_compile` off under this strategy, or compile only an inner function without collectives"

    def __init__(self) -> None:
        self._compiled: list[events.ModelCompiled] = []

    def on_model_compiled(self, event: events.ModelCompiled, plan: Plan) -> None:
        jit = event.arguments.get("jit_compile")
        if isinstance(jit, values.Constant) and jit.value is True:
            self._compiled.append(event)

    def on_strategy_run(self, event: events.StrategyRun, plan: Plan) -> Iterator[Report]:
        yield from self._in_jitted(event, event.strategy)

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> Iterator[Report]:
        if event.where.context.replica is not None:
            yield from self._in_jitted(event, event.where.context.replica.strategy)

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
                "`jit_compile=True` under a multi-replica strategy",
                confidence=confidence(event.where, strategy.where),
                related=((strategy.site, "the strategy is created here"),),
                fix=unsafe(
                    "Remove `jit_compile=True`: the step is compiled by TensorFlow, not by XLA",
                    calls.without_argument,
                    place,
                    "jit_compile",
                ),
            )


def _spans_gpus(strategy: values.Strategy | None) -> bool:
    if strategy is None or not strategy.is_multi_replica or strategy.kind == "tpu" or strategy.alone:
        return False
    devices = strategy.devices
    return not (isinstance(devices, values.Items) and devices.items is not None and len(devices.items) == 1)
