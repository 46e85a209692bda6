"""GPU217."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, together, values
from gpulint.plugin.queries import callers
from gpulint.plugin.words import STRATEGY_WORDS


class VariablesInReplica(Rule):
    """Variables created by the replicas

    ## What it does
    Finds an optimizer or a Sequential model that is not built when a replica function uses it for the first time,
    inside a `tf.function`: its variables are then created by the replicas.

    ## Why is this bad
    With Keras 3 and two or more replicas, the first training step raises InvalidArgumentError (measured on TensorFlow
    2.21 with Keras 3.15: `benchmarks/experiments/replica_variables.py`). With one replica it passes, so the program
    fails only on the machine with several GPUs.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.Adam()
    data = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64, drop_remainder=True)


    def replica_step(x):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(tf.reduce_mean(model(x) ** 2, axis=1), global_batch_size=64)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


    @tf.function
    def train_step(x):
        strategy.run(replica_step, args=(x,))


    for x in strategy.experimental_distribute_dataset(data):
        train_step(x)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.Adam()
        optimizer.build(model.trainable_variables)
    data = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64, drop_remainder=True)


    def replica_step(x):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(tf.reduce_mean(model(x) ** 2, axis=1), global_batch_size=64)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


    @tf.function
    def train_step(x):
        strategy.run(replica_step, args=(x,))


    for x in strategy.experimental_distribute_dataset(data):
        train_step(x)
    ```

    ## What is not reported
    Optimizers without variables per weight (SGD without momentum), of other packages and classes of the program;
    models of classes of the program, which can be built so (measured);
    objects that were built, used or passed to unknown code before; `Model.fit`, which builds both; `strategy.run` in
    eager code, where it passes; strategies with one replica; releases and programs with Keras 2. As this depends on the
    release, the rule is on by default only for files whose TensorFlow release is known, as GPU901 is.

    ## At run time
    The error message.
    """

    code = "GPU217"
    name = "variables-in-replica"
    severity = Severity.ERROR
    raises = True
    asks_release = True
    in_one_replica = False
    any_of_names = STRATEGY_WORDS
    why = "with Keras 3 and several replicas, the first step raises InvalidArgumentError"
    instead = "build it in the strategy's scope"

    def __init__(self) -> None:
        self._traced_runs: set[Site] = set()

    def on_strategy_run(self, event: events.StrategyRun, plan: Plan) -> None:
        if event.where.context.traced is not None and event.strategy.kind in _KINDS:
            self._traced_runs.add(event.site)

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> Iterator[Report]:
        if event.creates:
            build = "call `{name}.build({variables})` inside `with {strategy}.scope():`"
            yield from self._created(event, event.optimizer, "optimizer", build, plan)

    def on_model_called(self, event: events.ModelCalled, plan: Plan) -> Iterator[Report]:
        model = event.model
        is_outermost = all(caller.function != "call" for caller in callers(event.where.caller))
        if event.how == "call" and event.built == "no" and _is_sequential(model) and is_outermost:
            build = "begin it with an `Input`, or call `{name}.build(shape)` inside `with {strategy}.scope():`"
            yield from self._created(event, model, "model", build, plan)

    def _created(self, event: events.Event, made: values.Object, kind: str, build: str, plan: Plan) -> Iterator[Report]:
        """The report about an object whose variables an event creates, if that is in a traced replica."""
        replica = event.where.context.replica
        if (
            replica is not None
            and replica.site in self._traced_runs
            and not made.where.context.is_outside
            and plan.runs_keras_3
            and together(event.where, made.where, replica.strategy.where)
        ):
            yield Report(
                made.site,
                f"the {kind} has no variables until `strategy.run` calls it",
                instead=self._instead(build, event, made, replica.strategy),
                confidence=confidence(event.where, made.where),
                related=(
                    (event.site, f"the replicas use the {kind} for the first time here"),
                    (replica.strategy.site, "the strategy is created here"),
                ),
            )

    def _instead(self, build: str, event: events.Event, made: values.Object, strategy: values.Strategy) -> str:
        """How to build an object, with the names of the program."""
        import libcst.matchers as m  # slow to import, and seldom needed

        node = self.node(event.site)
        weights = m.Attribute(attr=m.Name("trainable_variables") | m.Name("trainable_weights"))
        given = {self.short(one, "") for one in m.findall(node, weights)} if node is not None else set()
        return build.format(
            strategy=self.name_of(strategy.site, made.site, "strategy"),
            name=self.name_of(made.site, made.site, "model" if isinstance(made, values.Model) else "optimizer"),
            variables=given.pop() if len(given) == 1 else "model.trainable_variables",
        )


def _is_sequential(model: values.Model) -> bool:
    return model.cls is None and model.library == "tensorflow.keras.Sequential" and model.is_private is False


_KINDS = frozenset({"mirrored", "multi_worker"})
"""Kinds of strategy for which this was measured."""
