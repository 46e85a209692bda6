"""GPU214."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, together, values
from gpulint.plugin.symbols import Path, words_of
from gpulint.plugin.words import STRATEGY_WORDS


class PerReplicaRead(Rule):
    """Per-replica value used as a tensor

    ## What it does
    Finds the result of `strategy.run`, or a batch of a distributed dataset, used as one tensor: `float()`, arithmetic,
    TensorFlow ops, `.numpy()`, `update_state` of a metric, `assign` of a variable; of results also printing and
    formatting.

    ## Why is this bad
    Both hold one value per replica. With two or more replicas, `float` and arithmetic raise TypeError, ops and metrics
    ValueError, `.numpy()` AttributeError (TensorFlow 2.21). With one it works, so the bug only appears on the machine
    with several GPUs. Printing and formatting are legal and show the value of each replica: they are reported as notes.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()


    @tf.function
    def train(x):
        return strategy.run(tf.identity, args=(x,))


    print(float(train(tf.constant(1.0))))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()


    @tf.function
    def train(x):
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(tf.identity, args=(x,)), axis=None)


    print(float(train(tf.constant(1.0))))
    ```

    ## What is not reported
    Values that are reduced or unpacked with `experimental_local_results`, values that are only stored or passed to
    `tf.print`, results printed under a strategy on named CPU devices or while a `tf.function` is traced, code in an
    `except` or behind a test of the value's type, and strategies with one replica.

    ## At run time
    The error message.
    """

    code = "GPU214"
    name = "per-replica-read"
    severity = Severity.ERROR
    in_one_replica = False
    once_a_row = True
    any_of_names = STRATEGY_WORDS
    why = "with several GPUs, the result is an object with one value per replica, and this line raises an error"
    instead = "reduce it first, with `strategy.reduce`"

    def __init__(self) -> None:
        self._runs: set[Site] = set()

    def on_strategy_run(self, event: events.StrategyRun, plan: Plan) -> None:
        self._runs.add(event.site)

    def on_replica_value_read(self, event: events.ReplicaValueRead, plan: Plan) -> Iterator[Report]:
        value = event.value
        shown = event.how in _SHOWN and (event.where.context.traced is not None or _is_demonstration(value.strategy))
        if (
            shown
            or _may_exclude_replicas(event.where.path)
            or event.how == "bool"
            or (value.from_data and event.how in _OF_RESULTS)
            or not (value.from_data or value.site in self._runs)
            or not value.strategy.is_multi_replica
        ):
            return
        if together(event.where, value.strategy.where):
            what = "a batch of a distributed dataset" if value.from_data else "the result of `strategy.run`"
            yield Report(
                event.site,
                f"{what} is {HOW.get(event.how, event.how)}, as if it were one tensor",
                instead=(_UNPACK if value.from_data else _REDUCE).format(
                    value=self._name(event.site), strategy=self.name_of(value.strategy.site, event.site, "strategy")
                ),
                why=_WHY_SHOWN if event.how in _SHOWN else _NOT_A_NUMBER if event.how in _CONVERTED else "",
                confidence=confidence(event.where, value.strategy.where),
                severity=Severity.INFO if event.how in _SHOWN else None,
                related=(
                    (value.site, "the value comes from here"),
                    (value.strategy.site, "the strategy is created here"),
                ),
            )

    def _name(self, read: Site) -> str:
        """Name of the variable that a call such as `float(loss)` or `loss.numpy()` reads, "value" if there is none."""
        import libcst.matchers as m  # slow to import, and seldom needed

        name = m.SaveMatchedNode(m.Name(), "name")
        calls = m.Call(args=[m.Arg(name)]) | m.Call(m.Attribute(name), args=[])
        node = self.node(read)
        found = m.extract(node, calls) if node is not None else None
        return str(getattr(found["name"], "value", "value")) if found is not None else "value"


_NOT_A_NUMBER = "with several GPUs, it is an object with one value per replica, and this line raises TypeError"

_CONVERTED = frozenset({"arithmetic", "float", "int"})

_SHOWN = frozenset({"print", "format"})

_OF_RESULTS = _SHOWN | {"array"}
"""Uses of a batch that raise nothing."""

_REDUCE = (
    "reduce it first: `{strategy}.reduce(tf.distribute.ReduceOp.SUM, {value}, axis=None)` for a loss that is divided "
    "by the global batch size, `ReduceOp.MEAN` for a mean over each replica's batch"
)

_UNPACK = "pass it to `{strategy}.run`, or take it apart with `{strategy}.experimental_local_results({value})`"

_WHY_SHOWN = "it holds one value per replica, and the text shows all of them"


def _may_exclude_replicas(path: Path) -> bool:
    """Whether a path may exclude per-replica values: it follows a failed attempt, or a test of a type, an attribute or
    the number of replicas."""
    is_fallback = any(literal.condition.operator == "handler" for literal in path)
    is_other = any(not literal.holds and "replicas" in words_of(frozenset({literal})) for literal in path)
    return is_fallback or is_other or any(word.rpartition(".")[2] in _TYPE_WORDS for word in words_of(path))


_TYPE_WORDS = frozenset({"DistributedValues", "EagerTensor", "PerReplica", "Tensor", "hasattr", "is_tensor"})


def _is_demonstration(strategy: values.Strategy) -> bool:
    """Whether a strategy is created with CPU devices by name, as in examples that demonstrate replicas."""
    items = strategy.devices.items if isinstance(strategy.devices, values.Items) else None
    texts = [item.value for item in items or () if isinstance(item, values.Constant)]
    return bool(texts) and all("cpu" in str(text).lower() for text in texts)


HOW = {
    "arithmetic": "used in arithmetic",
    "assign": "assigned to a variable",
    "metric": "passed to a metric",
    "op": "passed to a TensorFlow op",
    "compare": "compared",
    "float": "passed to `float()`",
    "format": "formatted",
    "int": "passed to `int()`",
    "math": "passed to a `math` function",
    "numpy": "read with `.numpy()`",
    "array": "passed to a NumPy function",
    "print": "printed",
}
