"""GPU703."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from gpulint.plugin import Plan, Report, Rule, Severity, Site, Where, confidence, events, possible, together, values
from gpulint.plugin.queries import alternatives, has_cluster, leaves, predates_keras_3, symbol_of
from gpulint.plugin.symbols import EVERYWHERE, Literal, Path, Symbol, is_complete, words
from gpulint.plugin.words import CLUSTER_WORDS


class SaveOnEveryWorker(Rule):
    """Every worker writes to one path

    ## What it does
    Finds checkpoints, models, weights and logs that a multi-worker or Horovod program writes on every worker to a path
    that is the same for all.

    ## Why is this bad
    The workers overwrite each other's files. Measured with two workers (`benchmarks/experiments/multiworker.py`):
    `model.save` leaves a file that does not load ("Bad CRC-32"), `save_weights` raises BlockingIOError in one worker,
    `Checkpoint.save` raises InvalidArgumentError.

    ## Example
    ```python
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.SlurmClusterResolver()
    strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.save("model.keras")
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.SlurmClusterResolver()
    strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    is_chief = resolver.task_id == 0
    model.save("model.keras" if is_chief else f"scratch/{resolver.task_id}.keras")
    ```

    ## What is not reported
    Writes under a condition, unless it is about steps, the workers were started under it, or the program ends with an
    error without it; callbacks that are passed to `fit` only under such a condition; paths that depend on the worker;
    strategies that nothing uses in a program without a cluster; `BackupAndRestore`; `ModelCheckpoint` and `TensorBoard`
    of Keras 2, which lets the chief write only; programs with one worker.

    ## At run time
    The files that are written.
    """

    code = "GPU703"
    name = "save-on-every-worker"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = CLUSTER_WORDS | {"horovod"}
    why = "the workers overwrite each other's files"
    instead = (
        "all workers must save, but only the chief to this path: give the others a temporary one. The chief is the "
        "task of type `chief` or, if the cluster has none, worker 0"
    )

    def on_end(self, plan: Plan) -> Iterator[Report]:
        used = {id(event.strategy) for event in self.all(events.StrategyUsed) if event.how != "attribute"}
        workers = [
            event
            for event in self.all(events.StrategyBuilt, events.LibraryCalled)
            if _starts_workers(event)
            and (not isinstance(event, events.StrategyBuilt) or id(event.strategy) in used or has_cluster(event, plan))
        ]
        if not workers:
            return
        for event in self.all(events.LibraryCalled, events.WeightsUsed):
            path = _written_path(event)
            if path is None or _is_of_worker(path, event.where):
                continue
            started = next((one for one in workers if _is_before(one, event)), None)
            if started is None or _is_guarded(_chosen(event.where), started.where):
                continue
            if _is_guarded_by_keras(event, started, plan):
                continue
            of_strategy = isinstance(started, events.StrategyBuilt)
            if not self._is_used_by_one(event, started.where):
                yield Report(
                    event.site,
                    f"every worker writes to {self._path(event)}",
                    why="TensorBoard mixes the curves of all workers" if _is_log(event) else "",
                    instead="" if of_strategy else "write only `if hvd.rank() == 0:`, or give each worker its own path",
                    confidence=confidence(event.where),
                    related=(
                        (
                            started.site,
                            "this strategy makes the program multi-worker"
                            if of_strategy
                            else "Horovod makes the program multi-worker here",
                        ),
                    ),
                )

    def _path(self, event: events.Event) -> str:
        """The path as the call spells it, "the same path" if that is long or elsewhere."""
        import libcst as cst  # slow to import, and seldom needed

        node = self.node(event.site)
        arguments = node.args if isinstance(node, cst.Call) else ()
        given = [one.value for one in arguments if one.keyword is None or one.keyword.value in _PATHS]
        code = self.short(given[0], "") if given else ""
        return f"`{code}`" if code else "the same path"

    def _is_used_by_one(self, event: events.Event, started: Where) -> bool:
        """Whether a callback is passed to `fit` only under conditions that may hold on a single worker."""
        if not isinstance(event, events.LibraryCalled):
            return False
        given = tuple(symbol_of(value) for value in event.arguments.all())
        made = Symbol(("call", ("external", event.name), given))
        ways = [
            path
            for fit in self.all(events.ModelFitted)
            if (callbacks := fit.arguments.get("callbacks")) is not None
            for path, option in alternatives(callbacks, EVERYWHERE)
            if any(symbol_of(leaf) == made for leaf in leaves(option))
        ]
        return bool(ways) and all(_is_guarded(path, started) for path in ways) and not is_complete(ways)


def _starts_workers(event: events.StrategyBuilt | events.LibraryCalled) -> bool:
    """Whether the program has several workers from this event on."""
    if isinstance(event, events.StrategyBuilt):
        return event.strategy.kind == "multi_worker"
    return event.name.startswith("horovod.") and event.name.endswith(".init")


def _written_path(event: events.LibraryCalled | events.WeightsUsed) -> values.Value | None:
    """Path that a call writes to, None if it writes to none."""
    if isinstance(event, events.WeightsUsed):
        return event.arguments.get("filepath", 0) if event.how in ("save", "save_weights", "export") else None
    if event.name in WRITERS:
        return event.arguments.get(WRITERS[event.name], 0)
    return _directory(event) if event.name in METHODS else None


def _is_guarded_by_keras(event: events.Event, started: events.Event, plan: Plan) -> bool:
    """Whether Keras 2 lets only the chief of a strategy write to a callback's path (`distributed_file_utils`)."""
    by_keras = isinstance(event, events.LibraryCalled) and event.name.endswith((".ModelCheckpoint", ".TensorBoard"))
    if not by_keras or not isinstance(started, events.StrategyBuilt):
        return False
    return not plan.runs_keras_3 or predates_keras_3(plan)


WRITERS = {
    "tensorflow.keras.callbacks.CSVLogger": "filename",
    "tensorflow.keras.callbacks.ModelCheckpoint": "filepath",
    "tensorflow.keras.callbacks.TensorBoard": "log_dir",
    "tensorflow.summary.create_file_writer": "logdir",
}
"""Calls that write files, or create an object that does → the argument with the path."""

_PATHS = frozenset({*WRITERS.values(), "file_prefix"})

METHODS = frozenset(
    {
        "tensorflow.train.Checkpoint.save",
        "tensorflow.train.Checkpoint.write",
        "tensorflow.train.CheckpointManager.save",
    }
)


def _directory(event: events.LibraryCalled) -> values.Value | None:
    """Path of a checkpoint: the manager's directory, or the prefix passed to `save`."""
    if event.name.endswith("Manager.save") and event.receiver is not None:
        made = event.receiver.facts.get(values.ObjectFact.ARGUMENTS)
        arguments = made.value if isinstance(made, values.Constant) else None
        return arguments.get("directory", 1) if isinstance(arguments, values.Arguments) else None
    return event.arguments.get("file_prefix", 0)


def _chosen(where: Where) -> Path:
    """Conditions that a place is under, except those whose violation ends the program on every worker."""
    demanded = frozenset(one for one in where.required if _spoken(one).isdisjoint(_RANKS))
    return where.path - demanded


def _is_guarded(path: Path, started: Where) -> bool:
    """Whether a condition may hold on a single worker.

    Any may that is not about the step, and that the workers were not started under.
    """
    return any(not _is_same_for_all(literal) for literal in path - started.path)


def _is_same_for_all(literal: Literal) -> bool:
    """Whether a condition is the same on all workers, because it is about the step or a library's version."""
    condition = literal.condition
    if condition.operator == "completes":
        return True
    if isinstance(condition.operand, frozenset):
        return all(_is_same_for_all(part) for path in condition.operand for part in path)
    named, spoken = _words(literal), _spoken(literal)
    is_common = not spoken.isdisjoint(_STEPS) or any(release in name for name in named for release in _RELEASES)
    return "%" in named or (is_common and spoken.isdisjoint(_RANKS))


def _words(literal: Literal) -> frozenset[str]:
    """Words of the operands of a condition and its parts."""
    condition = literal.condition
    parts = condition.operand if isinstance(condition.operand, frozenset) else ()
    inner = frozenset().union(*(_words(part) for path in parts for part in path))
    return inner | _named(condition.subject) | _named(condition.operand)


def _spoken(literal: Literal) -> frozenset[str]:
    return frozenset().union(*map(words, _words(literal)))


_RELEASES = (".__version__", ".version_info", ".VERSION")
"""Parts of the names of library versions."""


def _is_of_worker(path: values.Value, where: Where) -> bool:
    """Whether a path depends on the worker or on a condition, or is the result of a function that was not followed."""
    options = possible(path, where)
    computed = [option for option in options if not isinstance(option, values.Constant)]
    named = {name for option in computed for name in _named(getattr(option, "symbol", None))}
    unknown = any(name.endswith(".py") for name in named)
    return len(options) > 1 or unknown or any(words(name) & _RANKS for name in named)


@lru_cache(maxsize=8192)
def _named(name: object) -> frozenset[str]:
    """Words of a symbol.

    Not included are the kind of symbol (the `index` of a loop), the function of a parameter, and the sites of objects
    and loops.
    """
    if isinstance(name, str):
        return frozenset({name})
    if isinstance(name, Symbol):
        if name.parts[0] == "object":
            return frozenset()
        head, *parts = name.parts
        if head in ("index", "item"):
            parts = [part for part in parts if not isinstance(part, Site)]
        return _named(parts[-1] if head == "parameter" else tuple(parts))
    return frozenset().union(*map(_named, name)) if isinstance(name, tuple) else frozenset()


def _is_log(event: events.Event) -> bool:
    """Whether the files are for TensorBoard, of which each process starts its own."""
    return isinstance(event, events.LibraryCalled) and WRITERS.get(event.name) in ("log_dir", "logdir")


def _is_before(start: events.Event, event: events.Event) -> bool:
    return together(start.where, event.where) and (start.where.caller.known or start.where.caller is event.where.caller)


_STEPS = frozenset({"epoch", "epochs", "iteration", "iterations", "step", "steps"})
"""Words of conditions that are the same on all workers."""

_RANKS = frozenset(
    {
        *("chief", "getpid", "host", "hostname", "index", "mkdtemp", "mkstemp", "pid", "procid", "rank", "ranks"),
        *("gettempdir", "task", "tempdir", "temporary", "tmp", "uuid", "uuid4", "worker", "workers"),
    }
)
"""Words in the symbol of a path that differs between workers."""
