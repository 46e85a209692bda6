"""GPU209."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpulint.plugin import (
    Draft,
    Edit,
    JustifyingComment,
    Plan,
    Refused,
    Report,
    Rule,
    Severity,
    Site,
    confidence,
    events,
    possible,
    together,
    unsafe,
    values,
)
from gpulint.plugin.fixes import calls, names
from gpulint.plugin.queries import pipelines, symbol_of
from gpulint.plugin.symbols import is_training_data, words
from gpulint.plugin.words import STRATEGY_WORDS


class _Batch(NamedTuple):
    """A batch size that a strategy divides, the place to blame, and where the size is written."""

    event: events.Event
    strategy: values.Strategy
    size: values.Value
    place: Site
    batched: Site


class BatchNotScaled(Rule):
    """Batch size not scaled by the replicas

    ## What it does
    Finds a batch size that is a plain constant in training under a multi-replica strategy: of a dataset, of `fit` (also
    the default of 32, for arrays), of an `ImageDataGenerator`, or the `batch_size` that a `keras.utils.PyDataset` or
    `Sequence` of the program keeps.

    ## Why is this bad
    On a machine with several GPUs the batch is split: with eight replicas each GPU gets an eighth of it, too little to
    be busy, and adding GPUs does not make training faster. With one GPU it costs nothing.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    examples = tf.data.Dataset.from_tensor_slices((tf.zeros((1024, 4)), tf.zeros((1024, 1))))
    dataset = examples.batch(32)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
    model.fit(dataset)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    examples = tf.data.Dataset.from_tensor_slices((tf.zeros((1024, 4)), tf.zeros((1024, 1))))
    dataset = examples.batch(32 * strategy.num_replicas_in_sync)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
    model.fit(dataset)
    ```

    ## What is not reported
    Any scaling, however indirect; sizes from flags, arguments or files; constants named, documented or used as the
    global batch (divided by the replica count, passed as `global_batch_size`); toy sizes below 8, and 1024 or more, of
    which each of eight GPUs still gets enough; datasets created by `distribute_datasets_from_function`, whose batch is
    per replica; programs that make only one GPU visible, strategies with one device, and a `TPUStrategy`, whose
    number of cores its user has chosen.

    ## Fix
    Unsafe: multiplies the size by `strategy.num_replicas_in_sync` where it is passed to `batch` or `fit`, or passes the
    default to `fit`, multiplied. A step then processes more examples; the learning rate may have to grow with it, and
    numbers of steps to shrink.

    ## At run time
    The per-replica batch.
    """

    code = "GPU209"
    name = "batch-not-scaled"
    in_graph_mode = True
    severity = Severity.WARNING
    is_performance = True
    in_one_replica = False
    any_of_names = STRATEGY_WORDS
    why = "with N GPUs, each gets 1/N of the batch: too little work, so training is hardly faster"
    instead = "multiply the size by `strategy.num_replicas_in_sync`; you may also need to raise the learning rate"

    def _batches(self, plan: Plan) -> Iterator[_Batch]:
        flows = pipelines.flows(plan)
        for event in self.all(events.ModelFitted, events.DatasetDistributed):
            if isinstance(event, events.DatasetDistributed):
                if event.how == "experimental_distribute_dataset":
                    yield from _of_datasets(event, event.strategy, event.dataset)
            elif (strategy := event.model.where.context.strategy) is not None:
                if event.batch_size is not None:
                    place = event.arguments.sites.get("batch_size", event.site)
                    yield _Batch(event, strategy, event.batch_size, place, place)
                elif any(is_training_data(symbol_of(data)) for data in possible(event.data, event.where)):
                    yield _Batch(event, strategy, DEFAULT, event.site, event.site)
                yield from _of_datasets(event, strategy, event.data)
                for data in possible(event.data, event.where):
                    if (flow := pipelines.flow_of(data, flows)) is not None:
                        if (given := flow.arguments.get("batch_size")) is not None:
                            yield _Batch(event, strategy, given, flow.site, flow.site)
                    elif isinstance(data, values.Instance):
                        for size, written in _sizes_of_own(data):
                            yield _Batch(event, strategy, size, data.site, written)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        known = [
            size
            for event in self.all(events.GlobalSizeUsed)
            for size in possible(event.size, event.where)
            if isinstance(size, values.Constant)
        ]
        treated = {name for size in known for name in size.named}
        sizes = {size.value for size in known}
        for event, strategy, size, place, batched in self._batches(plan):
            if not strategy.is_multi_replica or strategy.kind == "tpu" or not together(event.where, strategy.where):
                continue
            if strategy.alone:
                continue
            if (
                not isinstance(size, values.Constant)
                or not isinstance(size.value, int)
                or not TOY <= size.value < LARGE
            ):
                continue
            if (
                size.value in sizes
                or treated.intersection(size.named)
                or any(_says_enough(name) for name in size.named)
            ):
                continue
            named = f"{size.value}, the default of `fit`," if size is DEFAULT else size.value
            yield Report(
                place,
                f"batch size {named} is not scaled by the number of replicas",
                instead=self._instead(place, batched, strategy, size),
                why=f"with N GPUs, each gets {size.value}/N samples: too little work, so training is hardly faster",
                confidence=confidence(event.where, strategy.where),
                related=((strategy.site, "the batch is split over the replicas of this strategy"),),
                unless=JustifyingComment((place, batched, size.origin or place), SAID, SUBJECTS),
                fix=unsafe(_SCALE, _with_size, event.site, strategy.site)
                if size is DEFAULT
                else unsafe(
                    _SCALE,
                    _scaled,
                    batched,
                    place if place != batched else None,
                    size.value,
                    size.named,
                    strategy.site,
                ),
            )

    def _instead(self, place: Site, batched: Site, strategy: values.Strategy, size: values.Constant) -> str:
        """What to pass instead, with the names at the place; a dataset may be batched before there is a strategy."""
        import libcst as cst  # slow to import, and seldom needed

        order = self.all(events.StrategyBuilt, events.DatasetBatched)
        node = self.node(place)
        given = [self.source(one.value) for one in node.args] if isinstance(node, cst.Call) else []
        name = next((one for one in given if one in size.named), str(size.value))
        passed = f"{name} * {self.name_of(strategy.site, place, 'strategy')}.num_replicas_in_sync"
        what = f"`batch_size={passed}`" if size is DEFAULT else f"`{passed}`"
        built, used = (
            next((n for n, one in enumerate(order) if one.site == site), 0) for site in (strategy.site, batched)
        )
        first = "create the strategy first and " if used < built else ""
        return f"{first}pass {what}; you may also need to raise the learning rate"


DEFAULT = values.Constant(32)
"""Batch size of `fit` for arrays if none is passed."""

_SCALE = "Scale it by the number of replicas: each step then takes more samples"


def _of_datasets(event: events.Event, strategy: values.Strategy, data: values.Value | None) -> Iterator[_Batch]:
    for dataset in possible(data, event.where):
        if isinstance(dataset, values.Dataset) and dataset.batch is not None and not dataset.batch.evaluates:
            batch = dataset.batch
            passed = isinstance(batch.size, values.Constant) and batch.size.is_passed
            place = batch.blame if passed and batch.blame is not None else batch.site
            yield _Batch(event, strategy, batch.size, place, batch.site)


def _sizes_of_own(data: values.Instance) -> Iterator[tuple[values.Value, Site]]:
    """Batch size that a dataset class of the program (`keras.utils.PyDataset`) keeps, and where it is written."""
    if data.cls is not None and not OF_BATCHES.isdisjoint(data.cls.libraries()):
        for name, value in data.attributes.items():
            if name.strip("_") in KEPT and isinstance(value, values.Constant) and value.origin is not None:
                yield value, value.origin


OF_BATCHES = frozenset({"tensorflow.keras.utils.PyDataset", "tensorflow.keras.utils.Sequence"})
"""Classes whose items are batches. `fit` divides these over the replicas, as it does those of a dataset."""

KEPT = frozenset({"batch_size", "batchsize", "bs"})
"""Attributes that keep the size."""


def _scaled(
    draft: Draft, batched: Site, passed: Site | None, size: int, named: tuple[str, ...], strategy: Site
) -> list[Edit]:
    """Multiply the size by the number of replicas.

    It is changed where `batch` or `fit` takes it, or where it is passed to the function that calls these.
    """
    if passed is not None:
        call = calls.call_around(draft, passed)
        given = calls.passed(call, size, named)
    else:
        call = calls.call_around(draft, batched)
        is_batch = call is draft.node(batched) and draft.source(call.function).rpartition(".")[2] in FIRST
        given = calls.argument(call, "batch_size", 0 if is_batch else None) or calls.passed(call, size, named)
    if given is None:
        raise Refused("the size is not an argument of the call")
    name = names.variable(draft, strategy, call)
    return [draft.rewrite(given.value, f"{calls.factor(draft, given.value)} * {name}.num_replicas_in_sync")]


def _with_size(draft: Draft, fit: Site, strategy: Site) -> list[Edit]:
    """Pass the default batch size, multiplied by the number of replicas, to `fit`."""
    name = names.variable(draft, strategy, calls.call_around(draft, fit))
    return calls.with_argument(draft, fit, "batch_size", f"32 * {name}.num_replicas_in_sync")


FIRST = frozenset({"batch", "padded_batch", "ragged_batch", "dense_to_ragged_batch", "rebatch"})
"""Methods and functions whose first argument is the size."""


def _says_enough(name: str) -> bool:
    """Whether a name of the size says that it is the global one, or counts the replicas."""
    own = words(name)
    return bool(own & GLOBAL) or (bool(own & COUNTED) and "per" not in own and "each" not in own)


TOY = 8
"""Smaller batches are taken for those of a test."""

LARGE = 1024
"""From this size on, an eighth of the batch still keeps a GPU busy."""

GLOBAL = frozenset({"global", "total", "effective", "overall", "worldwide", "eval", "test", "val", "validation"})
"""Words in a name that say that the size is not one replica's, or not that of training."""

COUNTED = frozenset({"gpus", "gpu", "ngpus", "ngpu", "replicas", "replica", "devices", "workers", "cores"})
"""Words in names such as `NUM_GPUS`. A size with such a name is scaled, though by a number of the author's."""

SAID = frozenset({"global", "total", "overall", "effective"})
"""Words in a comment or docstring that say so of the size."""

SUBJECTS = frozenset({"batch", "batches", "batch_size", "batchsize", "bs", "minibatch", "size"})
