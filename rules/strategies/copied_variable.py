"""GPU222."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, possible, together, values
from gpulint.plugin.queries import known
from gpulint.plugin.words import STRATEGY_WORDS


class CopiedVariable(Rule):
    """Large variable created outside the scope, read by replicas

    ## What it does
    Finds a `tf.Variable` of four million numbers or more that is created with no strategy in force and that an
    operation of a replica function reads whole, such as a matrix product.

    ## Why is this bad
    There is only one copy, on the first GPU. All others get it from there in every step: a product with the variable
    sends it to each other device once per step (counted on TensorFlow 2.21 with logical CPUs:
    `benchmarks/experiments/copied_variable.py`). 16 MB take a millisecond over PCIe.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    table = tf.Variable(tf.random.normal((50_000, 300)), trainable=False)


    def replica_step(words):
        return tf.matmul(words, table)


    @tf.function
    def step(words):
        return strategy.run(replica_step, args=(words,))


    data = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 50_000))).batch(64 * strategy.num_replicas_in_sync)
    for words in strategy.experimental_distribute_dataset(data):
        step(words)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        table = tf.Variable(tf.random.normal((50_000, 300)), trainable=False)


    def replica_step(words):
        return tf.matmul(words, table)


    @tf.function
    def step(words):
        return strategy.run(replica_step, args=(words,))


    data = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 50_000))).batch(64 * strategy.num_replicas_in_sync)
    for words in strategy.experimental_distribute_dataset(data):
        step(words)
    ```

    ## What is not reported
    Smaller variables and those of unknown size; operations that take rows of it (`tf.gather`,
    `tf.nn.embedding_lookup`), which run on its own device; variables that replicas update (GPU213).

    ## At run time
    Copies between devices at that line.
    """

    code = "GPU222"
    name = "copied-variable"
    severity = Severity.WARNING
    is_performance = True
    in_one_replica = False
    any_of_names = STRATEGY_WORDS
    all_of_name_sets = (frozenset({"Variable"}),)
    listens_to = (events.OpCalled, events.StateUpdated, events.VariableBuilt)
    why = "it lives on one GPU: every step copies it to the other GPUs before they can start"
    instead = "create it inside `with strategy.scope():`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        sizes = self._sizes()
        large = {built.variable.site for built in self.all(events.VariableBuilt) if _numbers(built, sizes) >= LARGE}
        if not large:
            return
        updated = {
            event.target.site for event in self.all(events.StateUpdated) if event.where.context.replica is not None
        }
        kept = large - updated
        for event in self.all(events.OpCalled):
            replica = event.where.context.replica
            if replica is None or not replica.strategy.is_multi_replica or event.name in _OF_ROWS:
                continue
            for read in event.inputs:
                if not isinstance(read, values.Variable) or read.site not in kept:
                    continue
                made = read.where
                if made.context.is_outside and together(event.where, made, replica.strategy.where):
                    yield Report(
                        read.site,
                        "a large variable is created outside `strategy.scope()` and read by every replica",
                        confidence=confidence(event.where, made, replica.strategy.where),
                        related=(
                            (replica.strategy.site, "the strategy is created here"),
                            (event.site, "the replicas read it here"),
                        ),
                    )

    def _sizes(self) -> dict[Site, int]:
        """Sites of the operations with a literal shape → number of elements of the tensor that each creates."""
        sizes: dict[Site, int] = {}
        for event in self.all(events.OpCalled):
            if event.result.site not in sizes and event.name.rpartition(".")[2] in _CREATE:
                shape = [known(one) for one in event.inputs]
                sizes[event.result.site] = math.prod(size for size in shape if type(size) is int and size > 0)
        return sizes


def _numbers(built: events.VariableBuilt, sizes: Mapping[Site, int]) -> int:
    """Number of elements of a variable, 0 if it is unknown."""
    for value in possible(built.arguments.get("initial_value", 0), built.where):
        if isinstance(value, values.Tensor):
            return sizes.get(value.site, 0)
    return 0


LARGE = 4_000_000
"""Number of values from which on a copy takes a millisecond over PCIe."""

_CREATE = frozenset({"normal", "ones", "truncated_normal", "uniform", "zeros"})
"""Operations whose first argument is the shape of what they create."""

_OF_ROWS = frozenset(
    {"tensorflow.gather", "tensorflow.nn.embedding_lookup", "tensorflow.shape", "tensorflow.size", "tensorflow.rank"}
)
"""Operations that run on the device of the variable, or read its shape alone."""
