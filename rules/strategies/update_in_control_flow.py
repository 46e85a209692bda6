"""GPU220."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, together, values
from gpulint.plugin.queries import callers
from gpulint.plugin.symbols import Literal, Path, Symbol
from gpulint.plugin.words import STRATEGY_WORDS


class UpdateInControlFlow(Rule):
    """Gradients applied where replicas cannot synchronize

    ## What it does
    Finds `apply_gradients` in a replica function, or in the `train_step` of a model that `fit` trains under a strategy,
    inside `tf.cond`, an `if` on a tensor, a loop over a tensor, or a `tf.function` that the replica function calls.

    ## Why is this bad
    Replicas add up their gradients in a merge call, which TensorFlow cannot trace there: the first step raises
    RuntimeError "`merge_call` called while defining a new graph or a tf.function". Without a strategy the same code
    works (TensorFlow 2.21; keras issue 17429, tensorflow issue 59487).

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.SGD(0.1)


    def replica_step(x):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(tf.reduce_sum(model(x) ** 2, axis=1))
        gradients = tape.gradient(loss, model.trainable_variables)
        if tf.linalg.global_norm(gradients) < 10.0:
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))


    @tf.function
    def step(x):
        strategy.run(replica_step, args=(x,))


    data = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64 * strategy.num_replicas_in_sync)
    for x in strategy.experimental_distribute_dataset(data):
        step(x)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.SGD(0.1)


    def replica_step(x):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(tf.reduce_sum(model(x) ** 2, axis=1))
        gradients = tape.gradient(loss, model.trainable_variables)
        keep = tf.cast(tf.linalg.global_norm(gradients) < 10.0, tf.float32)
        optimizer.apply_gradients(zip([keep * one for one in gradients], model.trainable_variables))


    @tf.function
    def step(x):
        strategy.run(replica_step, args=(x,))


    data = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64 * strategy.num_replicas_in_sync)
    for x in strategy.experimental_distribute_dataset(data):
        step(x)
    ```
    Or decide outside `strategy.run`, and run one of two replica functions.

    ## What is not reported
    Conditions and loops around `strategy.run`; Python conditions; replica functions that run eagerly; a `tf.function`
    that is itself passed to `strategy.run`, and a decorated `train_step`, which work; other strategies than mirrored
    ones.

    ## At run time
    The error message.
    """

    code = "GPU220"
    name = "update-in-control-flow"
    severity = Severity.ERROR
    raises = True
    in_one_replica = False
    any_of_names = STRATEGY_WORDS
    why = "replicas cannot add up their gradients there, so the first step raises RuntimeError"
    instead = "move the condition, loop or `tf.function` out of the replica function, around `strategy.run`"
    listens_to = (events.StrategyRun, events.ModelFitted, events.GradientsApplied, events.FunctionTraced)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        starts: dict[Site, list[events.Event]] = defaultdict(list)
        for run in self.all(events.StrategyRun, events.ModelFitted):
            starts[run.site].append(run)
        applied: dict[tuple[Site, Site], list[events.GradientsApplied]] = defaultdict(list)
        for event in self.all(events.GradientsApplied):
            replica = event.where.context.replica
            if replica is not None and replica.strategy.kind in _KINDS and not event.reduced_already:
                applied[event.site, replica.site].append(event)
        definitions = {traced.site: _definition(traced.function) for traced in self.all(events.FunctionTraced)}
        for (_, start), all_of_place in applied.items():
            outside = starts[start]
            before = frozenset[Literal]().union(*(run.where.path for run in outside))
            tested = _tensor_tests(all_of_place[0].where.path - before)
            for event in all_of_place[1:]:
                tested &= _tensor_tests(event.where.path)
            for event in all_of_place if outside else ():
                where = _where(event, outside, definitions) or ("behind a condition on a tensor" if tested else "")
                strategy = event.where.context.strategy
                if not where or strategy is None or event.where.context.traced is None:
                    continue
                if together(event.where, strategy.where):
                    yield Report(
                        event.site,
                        f"replicas apply gradients {where}",
                        confidence=confidence(event.where, strategy.where),
                        related=(
                            (start, "each replica runs this function"),
                            (strategy.site, "the strategy is created here"),
                        ),
                    )


def _where(event: events.GradientsApplied, outside: list[events.Event], definitions: dict[Site, Site | None]) -> str:
    """The loop or function inside the replica function in which an event happens, in words; "" if none matters."""
    around = {loop.site for run in outside for loop in run.where.context.loops}
    for loop in event.where.context.loops:
        is_traced = loop.is_traced and isinstance(loop.iterable, (values.Tensor, values.Dataset))
        if is_traced and loop.site not in around:
            return "in a loop over a tensor"
    traced = event.where.context.traced
    if traced is None or any(run.where.context.traced == traced for run in outside):
        return ""
    definition = definitions.get(traced)
    for caller in callers(event.where.caller):
        if definition is not None and caller.definition == definition:
            passed = caller.function == "train_step" or any(caller.site == run.site for run in outside)
            return "" if passed else "in a `tf.function` of their own"
    return ""


_KINDS = frozenset({"mirrored", "multi_worker"})
"""Kinds of strategy for which this was measured."""


def _tensor_tests(path: Path) -> frozenset[Literal]:
    """The conditions of a path that test a tensor."""
    return frozenset(one for one in path if one.condition.operator == "truth" and _is_tensor(one.condition.subject))


def _is_tensor(subject: object) -> bool:
    return isinstance(subject, Symbol) and subject.parts[0] == "tensor"


def _definition(function: values.Value) -> Site | None:
    """Definition of a function of the program."""
    return function.definition_site if isinstance(function, values.Function) else None
