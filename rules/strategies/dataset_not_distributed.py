"""GPU205."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.api import (
    STRATEGY_WORDS,
    Draft,
    Edit,
    Plan,
    Refused,
    Report,
    Rule,
    Severity,
    Site,
    confidence,
    events,
    is_array,
    leaves,
    loops,
    names,
    possible,
    unsafe,
    values,
)


class DatasetNotDistributed(Rule):
    """Plain data given to every replica

    ## What it does
    Finds `strategy.run` fed from a plain dataset or from arrays of NumPy.

    ## Why is this bad
    Every replica gets the same whole batch: N GPUs do the same work (measured on TensorFlow 2.21: 64 and 64 of
    64 rows), and the gradients are those of one batch, N times over.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    dataset = tf.data.Dataset.range(64).batch(4)


    @tf.function
    def train_step(batch):
        strategy.run(tf.identity, args=(batch,))


    for batch in dataset:
        train_step(batch)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(4))


    @tf.function
    def train_step(batch):
        strategy.run(tf.identity, args=(batch,))


    for batch in dataset:
        train_step(batch)
    ```

    ## What is not reported
    Distributed datasets and values, arrays outside loops, `Model.fit`, values that come from somewhere unknown.

    ## Fix
    Unsafe: distributes the dataset with `strategy.experimental_distribute_dataset`, where it is made or in the
    loop over it. Each replica then gets its part of a batch: a step sees as many examples as before, in all.

    ## At run time
    The same inputs on every replica.
    """

    code = "GPU205"
    name = "dataset-not-distributed"
    severity = Severity.WARNING
    in_one_replica = False
    speaks_of = STRATEGY_WORDS
    why = "every replica gets the same whole batch and does the same work"
    instead = "iterate over `strategy.experimental_distribute_dataset(dataset)`"

    def on_strategy_run(self, event: events.StrategyRun, plan: Plan) -> Iterator[Report]:
        if not event.strategy.is_multi_replica:
            return
        options = [possible(value, event.where) for value in event.arguments]
        if any(type(one) is not type(several[0]) for several in options for one in several):
            return
        given = [part for several in options for one in several for part in leaves(one)]
        if any(isinstance(value, values.PerReplica) for value in given):
            return
        plain = [value for value in given if isinstance(value, values.Tensor) and value.from_data]
        are_arrays = [is_array(value) for value in given if not isinstance(value, values.Constant)]
        if are_arrays and all(are_arrays) and event.where.context.loops:
            yield Report(
                event.site,
                "`strategy.run` is given arrays, which every replica gets whole",
                instead="give each replica its part: make a dataset of the arrays, and distribute that",
                confidence=confidence(event.where, event.strategy.where),
            )
        if plain:
            yield Report(
                event.site,
                "`strategy.run` is given batches of a dataset that is not distributed",
                confidence=confidence(event.where, event.strategy.where),
                related=((plain[0].site, "the batch comes from here"),),
                fix=unsafe(
                    "Distribute the dataset: each replica gets its part of a batch",
                    _distributed,
                    plain[0].site,
                    event.strategy.site,
                ),
            )


def _distributed(draft: Draft, batch: Site, strategy: Site) -> list[Edit]:
    """The loop that the batch comes from goes over the distributed dataset, made where the plain one is if that has
    no other use."""
    loop = loops.loop_over(draft, batch)
    method = "experimental_distribute_dataset"
    if (made := loops.made_for(draft, loop)) is not None:
        try:
            function = f"{names.variable(draft, strategy, made)}.{method}"
            return [draft.insert(draft.start(made), f"{function}("), draft.insert(draft.end(made), ")")]
        except Refused:  # the strategy is made later than the dataset
            pass
    return loops.with_iterable_in(draft, loop, f"{names.variable(draft, strategy, loop)}.{method}")
