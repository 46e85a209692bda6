"""tf.data pipelines as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulint.analysis import events, members, runtime
from gpulint.analysis.control import Halts
from gpulint.analysis.tensors import flattened
from gpulint.analysis.values import (
    Arguments,
    Batch,
    Dataset,
    Function,
    Partial,
    Step,
    Tensor,
    Traced,
    Unknown,
    Value,
    symbol_of,
)
from gpulint.knowledge.facts import Fact
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

STEPS = frozenset(
    [
        "apply",
        "as_numpy_iterator",
        "batch",
        "bucket_by_sequence_length",
        "cache",
        "cardinality",
        "concatenate",
        "enumerate",
        "filter",
        "flat_map",
        "group_by_window",
        "ignore_errors",
        "interleave",
        "map",
        "padded_batch",
        "prefetch",
        "ragged_batch",
        "rebatch",
        "repeat",
        "save",
        "scan",
        "shard",
        "shuffle",
        "skip",
        "snapshot",
        "sparse_batch",
        "take",
        "take_while",
        "unbatch",
        "unique",
        "window",
        "with_options",
    ]
)
"""Methods of `tf.data.Dataset` that give another dataset."""

_NOT_DATASETS = frozenset({"as_numpy_iterator", "cardinality", "save"})
_TAKE_FUNCTIONS = frozenset({"map", "flat_map", "interleave", "filter", "take_while", "scan", "group_by_window"})
_BATCHES = dict.fromkeys(("batch", "padded_batch", "ragged_batch", "rebatch"), "batch_size")


def source(interp: Interpreter, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    """A source of data."""
    runtime.called(interp, known, site)
    size = arguments.get("batch_size")
    if size is not None and name.endswith(("_from_directory", *SEVERAL)):
        return _batched(interp, Dataset(site, name), size, site)
    if name.endswith(_OF_DATASETS):
        given = flattened(interp.choose(value) for value in arguments.all())
        parts = [value for value in flattened(given) if isinstance(value, Dataset)]
        return Dataset(site, name, batch=next((part.batch for part in parts if part.batch is not None), None))
    return Dataset(site, name)


def is_several(value: Value) -> bool:
    """Whether a value can be several datasets: the splits that `tfds.load` gives, with or without what it knows of
    them, by number or by name."""
    return isinstance(value, Dataset) and value.source in SEVERAL and not value.steps


SEVERAL = ("tensorflow_datasets.load",)
_OF_DATASETS = (".zip", ".sample_from_datasets", ".choose_from_datasets")
"""Sources that go over other datasets and keep their batches."""


def _batched(interp: Interpreter, dataset: Dataset, size: Value, site: Site) -> Dataset:
    batch = Batch(size, site, interp.where(), members.blame(interp, site)[0])
    result = Dataset(dataset.site, dataset.source, dataset.steps, batch, dataset.distributed)
    interp.emit(events.DatasetBatched(site, interp.where(), result, size))
    return result


def method(interp: Interpreter, receiver: Dataset, name: str, arguments: Arguments, site: Site) -> Value:
    """`dataset.method(…)`."""
    if name == "apply":
        return _applied(interp, receiver, arguments, site)
    if name in _TAKE_FUNCTIONS:
        _run_mapped(interp, arguments, site)
    if name not in STEPS or name in _NOT_DATASETS:
        return Unknown(("call", ("attribute", symbol_of(receiver), name), site))
    stepped = Dataset(
        receiver.site,
        receiver.source,
        (*receiver.steps, Step(name, site, arguments)),
        None if name == "unbatch" else receiver.batch,
        receiver.distributed,
        receiver.element,
    )
    if name in _BATCHES:
        size = interp.choose(arguments.get(_BATCHES[name], 0) or Unknown(("batch", site)))
        return _batched(interp, stepped, size, site)
    return stepped


def _applied(interp: Interpreter, receiver: Dataset, arguments: Arguments, site: Site) -> Value:
    function = interp.choose(arguments.get("transformation_func", 0) or Unknown(("apply", site)))
    if isinstance(function, (Function, Partial)):
        return interp.call(function, Arguments((receiver,)), site)
    return Dataset(receiver.site, receiver.source, (*receiver.steps, Step("apply", site, arguments)), receiver.batch)


def _run_mapped(interp: Interpreter, arguments: Arguments, site: Site) -> None:
    """The function given to `map` and its like is traced and runs on the host, outside every scope."""
    function = interp.choose(arguments.get("map_func", 0) or Unknown(("map", site)))
    if not isinstance(function, (Function, Traced, Partial)):
        return
    before = interp.context
    interp.context = before._replace(devices=(), scopes=(), replica=None, traced=site, loops=())
    try:
        interp.call(function, Arguments((Tensor(site), Tensor(site))), site)
    except Halts:
        pass
    interp.context = before
