"""GPU706."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, possible, together, values
from gpulint.plugin.queries import has_cluster
from gpulint.plugin.words import CLUSTER_WORDS


class TooFewFiles(Rule):
    """One input file for several workers

    ## What it does
    Finds a dataset that reads one file (`TFRecordDataset`, `TextLineDataset`, `FixedLengthRecordDataset`) and is
    distributed to the workers of a cluster with the default sharding, or with `AutoShardPolicy.FILE`; with Keras 2 also
    by `fit`.

    ## Why is this bad
    TensorFlow gives each worker files of its own. A worker for which none is left raises InvalidArgumentError "Could
    not apply FILE based sharding", and the others fail with it (two workers, TensorFlow 2.21).

    ## Example
    ```python
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.SlurmClusterResolver()
    strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
    records = tf.data.TFRecordDataset("train.tfrecord").batch(8 * strategy.num_replicas_in_sync)


    @tf.function
    def train(iterator):
        strategy.run(tf.identity, args=(next(iterator),))


    train(iter(strategy.experimental_distribute_dataset(records)))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.SlurmClusterResolver()
    strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    records = tf.data.TFRecordDataset("train.tfrecord").batch(8 * strategy.num_replicas_in_sync).with_options(options)


    @tf.function
    def train(iterator):
        strategy.run(tf.identity, args=(next(iterator),))


    train(iter(strategy.experimental_distribute_dataset(records)))
    ```
    With `DATA`, every worker reads the whole file and keeps its part. At least one file per worker is faster.

    ## What is not reported
    Lists of files, names that may be lists, strategies without a cluster, other policies and unknown options,
    `distribute_datasets_from_function`.

    ## At run time
    The error message.
    """

    code = "GPU706"
    name = "too-few-files"
    severity = Severity.ERROR
    any_of_names = CLUSTER_WORDS
    why = "each worker reads its own files: with two or more workers, one finds none and raises InvalidArgumentError"
    instead = "set `options.experimental_distribute.auto_shard_policy` to `AutoShardPolicy.DATA`, or split the file"

    def on_dataset_distributed(self, event: events.DatasetDistributed, plan: Plan) -> Iterator[Report]:
        if event.how == "experimental_distribute_dataset":
            yield from self._distributed(event, event.dataset, event.strategy, plan)

    def on_model_fitted(self, event: events.ModelFitted, plan: Plan) -> Iterator[Report]:
        strategy = event.model.where.context.strategy
        if not plan.runs_keras_3:  # Keras 3 does not train on several workers at all (GPU705)
            for dataset in possible(event.data, event.where):
                yield from self._distributed(event, dataset, strategy, plan)

    def _distributed(
        self, event: events.Event, dataset: values.Value, strategy: values.Strategy | None, plan: Plan
    ) -> Iterator[Report]:
        """The report about a dataset that an event gives to the workers of a cluster."""
        if strategy is None or strategy.kind != "multi_worker":
            return
        site = _single_file(dataset, event) if _shards_files(dataset) else None
        if site is not None and self._has_cluster(event, strategy, plan):
            yield Report(
                event.site,
                "a dataset of one file is distributed to multiple workers",
                confidence=confidence(event.where, strategy.where),
                related=((site, "the file is read here"), (strategy.site, "the strategy is created here")),
            )

    def _has_cluster(self, event: events.Event, strategy: values.Strategy, plan: Plan) -> bool:
        return any(
            built.strategy is strategy and has_cluster(built, plan) and together(event.where, built.where)
            for built in self.all(events.StrategyBuilt)
        )


def _shards_files(dataset: values.Value) -> bool:
    """Whether the options of a dataset, all of them known, leave it to TensorFlow to shard by files."""
    if not isinstance(dataset, values.Dataset):
        return False
    for step in dataset.steps:
        if step.name == "with_options" and not isinstance(step.arguments.get("options", 0), values.Instance):
            return False
    policies = [setting for name, setting in dataset.options if "auto_shard" in name]
    return all(isinstance(one, values.LibraryName) and one.name.endswith((".AUTO", ".FILE")) for one in policies)


def _single_file(dataset: values.Value, event: events.Event) -> Site | None:
    """Where a dataset reads one file only, None if it reads others or none."""
    if not isinstance(dataset, values.Dataset):
        return None
    if dataset.source.endswith(_READERS):
        names = possible(dataset.arguments.get("filenames", 0), event.where)
        return dataset.site if names and all(_is_one_name(one) for one in names) else None
    if dataset.source.endswith(".from_tensor_slices"):
        names = possible(dataset.arguments.get("tensors", 0), event.where)
        read = [inner for step in dataset.steps for inner in step.inner if inner.source.endswith(_READERS)]
        return read[0].site if read and names and all(_is_list_of_one(one) for one in names) else None
    return None


_READERS = (".TFRecordDataset", ".TextLineDataset", ".FixedLengthRecordDataset")


def _is_one_name(value: values.Value) -> bool:
    """Whether a value is one string, or a list with one string."""
    if isinstance(value, values.Constant):
        return isinstance(value.value, str)
    if type(value) is values.Unknown:
        return value.symbol.parts[0] == "call" and value.symbol.origin == "os.path.join"
    return isinstance(value, values.PartialString) or _is_list_of_one(value)


def _is_list_of_one(value: values.Value) -> bool:
    items = value.items if isinstance(value, values.Items) else None
    return items is not None and len(items) == 1 and not isinstance(items[0], values.Items) and _is_one_name(items[0])
