"""Pipelines of tf.data as values."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.analysis.domain.context import Caller, Loop, Object
from gpulint.analysis.domain.dataset_lengths import source_elements
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.traversal import leaves_on
from gpulint.analysis.domain.values.base import NONE, Arguments, LibraryName, Union, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.datasets import Batch, Dataset, Step, Transformation
from gpulint.analysis.domain.values.effects import Effect, effects_within
from gpulint.analysis.domain.values.functions import Bound, Function, Partial, Traced
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.domain.values.objects import Layer, Model
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import api_removals, blame, device_runtime, generator_sources
from gpulint.analysis.models.tensorflow.stateful_ops import note_layer, of_options
from gpulint.analysis.models.tensorflow.tensors import element_of, flattened
from gpulint.analysis.plan import events
from gpulint.knowledge.facts import Fact
from gpulint.knowledge.watched import OPTIONS
from gpulint.places import Site
from gpulint.syntax import ir

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
"""Methods of `tf.data.Dataset` that continue a pipeline. Most return another dataset."""

CLASSES = frozenset({"tensorflow.data.Dataset", "tensorflow.data.DatasetV2"})

_NOT_DATASETS = frozenset({"as_numpy_iterator", "cardinality", "save"})
_TAKE_FUNCTIONS = frozenset({"map", "flat_map", "interleave", "filter", "take_while", "scan", "group_by_window"})
_BATCHES = {
    **dict.fromkeys(("batch", "padded_batch", "ragged_batch", "rebatch"), "batch_size"),
    "bucket_by_sequence_length": "bucket_batch_sizes",
}

_PARAMETERS = {
    "map_and_batch": ("map_func", "batch_size", "num_parallel_batches", "drop_remainder", "num_parallel_calls"),
    "shuffle_and_repeat": ("buffer_size", "count", "seed"),
}

TRANSFORMATIONS: dict[str, tuple[tuple[str, dict[str, str]], ...]] = {
    "bucket_by_sequence_length": (("bucket_by_sequence_length", {}),),
    "dense_to_ragged_batch": (("ragged_batch", {}),),
    "map_and_batch": (
        ("map", {"map_func": "map_func", "num_parallel_calls": "batch_size"}),
        ("batch", {"batch_size": "batch_size", "drop_remainder": "drop_remainder"}),
    ),
    "shuffle_and_repeat": (
        ("shuffle", {"buffer_size": "buffer_size", "seed": "seed"}),
        ("repeat", {"count": "count"}),
    ),
    "unbatch": (("unbatch", {}),),
}
"""Functions of `tf.data.experimental` whose result is passed to `apply` → the methods that do the same, with their
parameters and those of the function that they get; all arguments where there are none."""


def calls_of_transformation(name: str, arguments: Arguments) -> tuple[tuple[str, Arguments], ...]:
    """Methods of datasets that do what a function of `tf.data.experimental` does, with their arguments."""
    return tuple((method, _passed(arguments, name, given)) for method, given in TRANSFORMATIONS[name])


def _passed(arguments: Arguments, name: str, given: dict[str, str]) -> Arguments:
    """The arguments of a method, from those of the function `name`: parameter → that of the function."""
    if not given:
        return arguments
    params = _PARAMETERS[name]
    values = {to: value for to, of in given.items() if (value := arguments.of(of, params)) is not None}
    places = {to: arguments.sites.get(of, arguments.sites.get(params.index(of))) for to, of in given.items()}
    sites: dict[str | int, Site] = {to: place for to, place in places.items() if place is not None}
    return Arguments((), values, arguments.open, sites)


def source(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    """Dataset that a source function creates."""
    device_runtime.may_initialise(machine, known, site)
    size = arguments.get("batch_size", _SIZES.get(name.rpartition(".")[2]))
    if size is not None and name.endswith(("_from_directory", *SEVERAL, *_SIZES)):
        return _batched(machine, Dataset(site, name, arguments=arguments), size, site)
    if name.endswith(_OF_DATASETS):
        given = flattened(machine.choose(value) for value in arguments.all())
        parts = tuple(value for value in flattened(given) if isinstance(value, Dataset))
        batch = next((part.batch for part in parts if part.batch is not None), None)
        joined = Dataset(site, name, batch=batch, arguments=arguments, inputs=parts)
        joined.length = source_elements(name, arguments, parts)
        return joined
    made = Dataset(site, name, arguments=arguments)
    made.length = source_elements(name, arguments)
    if name.endswith(".from_generator"):
        work = generator_sources.run_generator(machine, arguments, site)
        made.work = work
        made.gives_names = generator_sources.gives_names(arguments, work)
    return made


def consume(machine: Machine, value: Value, how: str, site: Site, loop: Site | None) -> None:
    """Record that a complete pipeline, or an iterator over one (`enumerate`, `zip`), is read.

    A list created from a pipeline keeps its elements. Reading the list counts as reading the pipeline only where the
    list is created once per iteration over it.
    """
    seen: set[int] = set()
    pending = [(machine.path, value)]
    while pending:
        path, part = pending.pop()
        for guard, option in alternatives(part, path):
            if isinstance(option, Dataset):
                where = machine.where()._replace(path=path | guard)
                machine.emit(events.DatasetConsumed(site, where, option, how, loop))
            elif isinstance(option, Items) and id(option) not in seen:
                seen.add(id(option))
                if option.around is not None and not _is_fresh(machine, option.around, how):
                    continue
                pending += [(path | guard, one) for one in reversed(option.over)]


def _is_fresh(machine: Machine, around: tuple[Loop, ...], how: str) -> bool:
    """Whether a list created inside some loops is iterated once per creation.

    It is in the same loops, or element by element in one more.
    """
    made = [loop.entry for loop in around]
    now = [loop.entry for loop in machine.context.loops]
    return made in (now, now[:-1] if how == "next" else now)


def consume_elsewhere(machine: Machine, value: Value, function: Function) -> None:
    """Record that pipelines in the result of a function that the program does not call are read elsewhere."""
    caller = Caller(None, function.name, None, known=False, definition=function.definition_site)
    where = machine.where()._replace(caller=caller)
    for part in leaves_on(machine.path, value):
        if isinstance(part, Dataset):
            machine.emit(events.DatasetConsumed(function.definition_site, where, part, "elsewhere", None))


def dropped(machine: Machine, value: Value, call: ir.Call) -> None:
    """Record that the result of a dataset's method is discarded."""
    site = machine.site(call)
    last = value.steps[-1] if isinstance(value, Dataset) and value.steps else None
    if last is not None and last.site == site:
        machine.emit(events.TransformationDropped(site, machine.where(), last.name))
    elif type(value) is Unknown and isinstance(call.function, ir.Attribute):
        owner = _transformed(value.symbol, call.function.name)
        while owner is not None and owner not in machine.library_state.datasets:
            owner = _transformed(owner)
        if owner is not None:
            machine.emit(events.TransformationDropped(site, machine.where(), call.function.name))


def _transformed(name: Symbol, method: str = "") -> Symbol | None:
    """What a symbol transforms by a method of datasets, by this one if it is given; None if it is no such call."""
    called = symbol(name.parts[1]).parts if name.parts[0] == "call" else ()
    if called[:1] != ("attribute",) or called[2] not in STEPS - _NOT_DATASETS or method not in ("", called[2]):
        return None
    return symbol(called[1])


def is_several(value: Value) -> bool:
    """Whether a value may be several datasets.

    These are the splits that `tfds.load` returns, by number or by name, with or without its info object.
    """
    return isinstance(value, Dataset) and value.source in SEVERAL and not value.steps


SEVERAL = ("tensorflow_datasets.load",)
_SIZES = {"make_batched_features_dataset": 1, "make_csv_dataset": 1, "timeseries_dataset_from_array": 5}
"""Sources of batches → position of their size. Others take it by name."""
_OF_DATASETS = (".zip", ".sample_from_datasets", ".choose_from_datasets")
"""Sources that combine other datasets and keep their batches."""


def element_of_any(machine: Machine, options: Union, node: ir.Node) -> Value | None:
    """Element of any of several pipelines that are distributed alike, None for other values."""
    datasets = [option for _, option in options.alternatives if isinstance(option, Dataset)]
    alike = {id(one.distributed) for one in datasets}
    if len(datasets) < len(options.alternatives) or len(alike) > 1:
        return None
    return element_of(machine, datasets[0], node)


def _batched(machine: Machine, dataset: Dataset, size: Value, site: Site) -> Dataset:
    batch = Batch(size, site, machine.where(), blame.blame(machine, site)[0])
    result = dataset.but(batch=batch)
    machine.emit(events.DatasetBatched(site, machine.where(), result, size))
    return result


def dataset_method(machine: Machine, receiver: Dataset, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of `dataset.method(…)`."""
    if name == "apply":
        return _applied(machine, receiver, arguments, site)
    if name == "__iter__":
        return receiver
    if name in ("get_next", "__next__", "next"):
        consume(machine, receiver, "next", site, None)
        return element_of(machine, receiver, ir.Pass(site.node))
    before = machine.operations
    effects, inner = _run_mapped(machine, arguments, site) if name in _TAKE_FUNCTIONS else ((), ())
    operations = machine.operations - before
    if name not in STEPS:
        api_removals.check_method(machine, receiver, name, site)
    if name == "as_numpy_iterator":
        return Items("iterator", None, None, ("call", ("attribute", symbol_of(receiver), name), site), (receiver,))
    if name not in STEPS or name in _NOT_DATASETS:
        return Unknown(("call", ("attribute", symbol_of(receiver), name), site))
    options = receiver.options
    if name == "with_options":
        options = (*options, *_settings(machine, machine.choose(arguments.get("options", 0) or NONE), ""))
    step = Step(name, site, arguments, effects, operations, inner)
    stepped = receiver.but(steps=(*receiver.steps, step), options=options)
    if name == "unbatch":
        stepped.batch = None
    elif name in ("concatenate", "zip"):
        given = tuple(value for value in arguments.all() if isinstance(value, Dataset))
        stepped.inputs = (*stepped.inputs, *given)
    if name in _BATCHES:
        size = machine.choose(arguments.get(_BATCHES[name], 0) or Unknown(("batch", site)))
        return _batched(machine, stepped, size, site)
    return stepped


def _applied(machine: Machine, receiver: Dataset, arguments: Arguments, site: Site) -> Value:
    function = machine.choose(arguments.get("transformation_func", 0) or Unknown(("apply", site)))
    if isinstance(function, (Function, Partial)):
        return machine.call(function, Arguments((receiver,)), site)
    if isinstance(function, Transformation):
        value: Value = receiver
        for method, given in function.calls:
            value = dataset_method(machine, value, method, given, site) if isinstance(value, Dataset) else value
        return value
    return receiver.but(steps=(*receiver.steps, Step("apply", site, arguments)))


MAX_SETTINGS_DEPTH = 2
"""Number of names in the longest dotted name of a setting: `threading.private_threadpool_size`."""


def _settings(machine: Machine, value: Value, prefix: str) -> Iterator[tuple[str, Value]]:
    """Present settings of a `tf.data.Options` object, by dotted name."""
    if isinstance(value, Instance) and value.library in OPTIONS and prefix.count(".") < MAX_SETTINGS_DEPTH:
        for name, setting in value.attributes.items():
            if isinstance(setting, Instance):
                yield from _settings(machine, setting, f"{prefix}{name}.")
            elif isinstance(setting, Value):
                yield prefix + name, machine.choose(setting)


def _run_mapped(machine: Machine, arguments: Arguments, site: Site) -> tuple[tuple[Effect, ...], tuple[Dataset, ...]]:
    """Stateful operations in the function passed to `map` or a similar method, and the datasets that it returns.

    The function is traced and runs on the host, outside every scope.
    """
    function = machine.choose(arguments.get("map_func", 0) or arguments.get("predicate", 0) or Unknown(("map", site)))
    mark = len(machine.effects)
    inner: tuple[Dataset, ...] = ()
    if isinstance(function, (Layer, Model)) and function.cls is None:
        note_layer(machine, function, site)
    elif isinstance(function, (Function, Traced, Partial, Bound, Object, LibraryName)):
        here = machine.context._replace(devices=(), scopes=(), replica=None, traced=site, mapped=site, loops=())
        with machine.within(here):
            element = (Tensor(site),) if isinstance(function, LibraryName) else (Tensor(site), Tensor(site))
            result = machine.call(function, Arguments(element), site)
            inner = tuple(one for _, one in alternatives(result, machine.path) if isinstance(one, Dataset))
    found = effects_within(machine.effects[mark:], machine.path)
    del machine.effects[mark:]
    return tuple(effect._replace(path=of_options(effect.path)) for effect in found), inner
