"""GPU205."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import (
    Draft,
    Edit,
    Loop,
    Plan,
    Refused,
    Report,
    Rule,
    Severity,
    Site,
    confidence,
    events,
    possible,
    unsafe,
    values,
)
from gpulint.plugin.fixes import loops, names
from gpulint.plugin.queries import alternatives, leaves
from gpulint.plugin.symbols import Path, is_batch, words, words_of
from gpulint.plugin.words import STRATEGY_WORDS


class DatasetNotDistributed(Rule):
    """Plain data given to every replica

    ## What it does
    Finds `strategy.run` on elements of a plain dataset, or of one that is distributed with one setting only; or
    training in a loop on plain tensors and NumPy arrays: rows that are drawn (`tf.random.normal((64, 8))`) or the next
    ones of a collection (`x[i : i + 64]`), also those that a Keras loader gives. `train_on_batch` of a model under a
    strategy does the same on Keras 3.

    ## Why is this bad
    Every replica gets the same whole batch: N GPUs do the same work (measured on TensorFlow 2.21: 64 and 64 of 64
    rows; `train_on_batch`: 8 and 8 of 8), and the gradients are those of one batch, N times over.

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
    Distributed datasets and values, tensors and arrays outside training loops, numbers that every replica gets on
    purpose (a learning rate, a step), replicas that select their own part (`replica_id_in_sync_group`), `Model.fit`,
    values of unknown origin, datasets that are distributed with a setting that is about devices (`if args.multi_gpu`).

    ## Fix
    Unsafe: distributes the dataset with `strategy.experimental_distribute_dataset`, where it is created or in the loop
    over it. Each replica then gets its part of a batch, and a step processes as many examples as before in total. Not
    offered where the loop itself uses the batch: a batch of a distributed dataset is not one tensor.

    ## At run time
    The same inputs on every replica.
    """

    code = "GPU205"
    name = "dataset-not-distributed"
    severity = Severity.WARNING
    in_one_replica = False
    any_of_names = STRATEGY_WORDS
    why = "every replica gets the same whole batch and does the same work: N GPUs are no faster than one"
    instead = "iterate over `strategy.experimental_distribute_dataset(dataset)`"

    def __init__(self) -> None:
        self._given_whole: list[tuple[events.StrategyRun, Report]] = []
        self._trains: set[Site] = set()
        """Calls of `strategy.run` whose replicas apply gradients."""

    def on_gradients_applied(self, event: events.GradientsApplied, plan: Plan) -> None:
        if event.where.context.replica is not None:
            self._trains.add(event.where.context.replica.site)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        yield from (report for event, report in self._given_whole if event.site in self._trains)

    def on_strategy_run(self, event: events.StrategyRun, plan: Plan) -> Iterator[Report]:
        if not event.strategy.is_multi_replica:
            return
        options = [possible(value, event.where) for value in event.arguments]
        if any(type(one) is not type(several[0]) for several in options for one in several):
            yield from _plain_by_a_setting(event)
            return
        given = [part for several in options for one in several for part in leaves(one)]
        if any(isinstance(value, values.PerReplica) for value in given):
            return
        plain = [value for value in given if isinstance(value, values.Tensor) and value.from_data]
        are_batches = {_is_of_loader(value) or is_batch(value) for value in given}
        is_data = True in are_batches and None not in are_batches
        if is_data and not plain and event.where.context.loops and not plan.mentions(_OWN_NUMBER):
            what = "tensors" if any(isinstance(value, values.Tensor) for value in given) else "arrays"
            report = Report(
                event.site,
                f"`strategy.run` passes whole {what} to every replica",
                instead=f"create a dataset from the {what} and distribute it: each replica then gets its own share",
                confidence=confidence(event.where, event.strategy.where),
            )
            self._given_whole.append((event, report))
        if plain:
            yield Report(
                event.site,
                "`strategy.run` is given batches that are not distributed across the replicas",
                instead=self._instead(event),
                confidence=confidence(event.where, event.strategy.where),
                related=((plain[0].site, "the batch comes from here"),),
                fix=unsafe(
                    "Distribute the dataset: each replica then gets its share of every batch",
                    _distributed,
                    plain[0].site,
                    event.strategy.site,
                ),
            )

    def _instead(self, event: events.StrategyRun) -> str:
        """What to iterate over instead, with the names of the innermost loop."""
        import libcst as cst  # slow to import, and seldom needed

        loops = event.where.context.loops
        if any(map(_is_generator, loops)):
            return _FROM_GENERATOR
        node = self.node(loops[-1].site) if loops else None
        data = node.iter if isinstance(node, cst.For) else None
        if isinstance(data, cst.Call) and self.source(data.func).rpartition(".")[2] in _WRAPPERS:
            data = None
        strategy = self.name_of(event.strategy.site, event.site, "strategy")
        name = self.short(data, "dataset")
        return f"iterate over `{strategy}.experimental_distribute_dataset({name})`"

    def on_model_called(self, event: events.ModelCalled, plan: Plan) -> Iterator[Report]:
        """Report `train_on_batch` under a strategy: Keras 3 runs its step on every replica with the whole batch."""
        strategy = event.model.where.context.strategy
        context = event.where.context
        if event.how == "train_on_batch" and strategy is not None and context.loops and plan.runs_keras_3:
            if strategy.is_multi_replica and not strategy.alone and context.replica is None:
                yield Report(
                    event.site,
                    "`train_on_batch` gives every replica the whole batch",
                    instead="train with `fit`, or in your own loop over a distributed dataset",
                    confidence=confidence(event.where, strategy.where),
                    related=((strategy.site, "the model is created under this strategy"),),
                )


_WRAPPERS = frozenset({"enumerate", "iter", "islice", "track", "tqdm", "trange", "zip"})
"""Functions around the dataset that a loop is over."""

_FROM_GENERATOR = (
    "wrap the generator in `tf.data.Dataset.from_generator(…)`, and iterate over "
    "`strategy.experimental_distribute_dataset(dataset)`"
)


def _plain_by_a_setting(event: events.StrategyRun) -> Iterator[Report]:
    """Report batches that are distributed with one setting and plain with another, which is not about the replicas."""
    for value in event.arguments:
        several = alternatives(value, event.where.path)
        if all(isinstance(one, (values.PerReplica, values.Tensor)) for _, one in several):
            for path, one in several:
                if isinstance(one, values.Tensor) and one.from_data and not _is_about_replicas(path):
                    yield Report(
                        event.site,
                        "`strategy.run` is given batches that are distributed with one setting only",
                        instead="distribute the dataset after the last step that a setting changes",
                        confidence=confidence(event.where, event.strategy.where),
                        related=((one.site, "the batch comes from here"),),
                    )
                    return


def _is_about_replicas(path: Path) -> bool:
    """Whether conditions may be about how many replicas there are, which is one where data is not distributed."""
    return any(words(name) & _OF_REPLICAS for name in words_of(path))


_OF_REPLICAS = frozenset(
    {
        *("cluster", "cpu", "ddp", "device", "devices", "dist", "distribute", "distributed", "distribution", "gpu"),
        *("gpus", "horovod", "hvd", "mirrored", "mode", "multi", "multigpu", "nodes", "parallel", "parallelism"),
        *("replica", "replicas", "shard", "strategy", "test", "tpu", "worker", "workers", "world"),
    }
)


def _is_generator(loop: Loop) -> bool:
    return isinstance(loop.iterable, values.Items) and loop.iterable.kind == "generator"


def _is_of_loader(value: values.Value) -> bool:
    """Whether a value is a batch of Keras's `ImageDataGenerator`."""
    return type(value) is values.Unknown and any(word.startswith("flow_from_") for word in value.symbol.words)


_OWN_NUMBER = "replica_id_in_sync_group"
"""Attribute that a replica reads to select its own part of the data."""


def _distributed(draft: Draft, batch: Site, strategy: Site) -> list[Edit]:
    """Iterate over the distributed dataset. It is created where the plain one is, if that has no other use."""
    loop = loops.loop_over(draft, batch)
    loops.demand_passed_on(draft, loop)
    method = "experimental_distribute_dataset"
    if (made := loops.made_for(draft, loop)) is not None:
        try:
            function = f"{names.variable(draft, strategy, made)}.{method}"
            return [draft.insert(draft.start(made), f"{function}("), draft.insert(draft.end(made), ")")]
        except Refused:  # the strategy is created after the dataset
            pass
    return loops.with_iterable_in(draft, loop, f"{names.variable(draft, strategy, loop)}.{method}")
