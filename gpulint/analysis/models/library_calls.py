"""Calls of library names: TensorFlow through the knowledge tables, a few others by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpulint.analysis.domain.completion import PathEnds
from gpulint.analysis.domain.context import DeviceScope, Object, Strategy, StrategyScope
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.traversal import dataset_iterables, leaves
from gpulint.analysis.domain.values.base import (
    NONE,
    Arguments,
    Constant,
    LibraryName,
    PartialString,
    Union,
    Unknown,
    Value,
    known,
    symbol_of,
)
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.datasets import Transformation
from gpulint.analysis.domain.values.devices import DeviceList, ListedDevice
from gpulint.analysis.domain.values.functions import ContextManagerFunction, Function, Partial, Traced
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.domain.values.managers import ExitStackManager, NullManager
from gpulint.analysis.domain.values.object_facts import ObjectFact
from gpulint.analysis.domain.values.objects import DeviceManager, Layer, Loss, Model, Optimizer, Tape, Variable
from gpulint.analysis.domain.values.tensors import Reduced, Tensor
from gpulint.analysis.engine import builtins, dynamic_lookup, imports
from gpulint.analysis.engine.iteration import elements
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.engine.sequences import MAX_ITEMS
from gpulint.analysis.models.python import dataclass_fields, decorators, host_random, loggers, threads
from gpulint.analysis.models.tensorflow import (
    api_removals,
    control_flow_ops,
    device_runtime,
    dtype_policy,
    escape,
    foreign_objects,
    generator_sources,
    host_sync,
    keras_loaders,
    minimizers,
    model_parts,
    objects,
    stateful_ops,
    tensors,
    tf_data,
    tf_function,
    tuners,
)
from gpulint.analysis.plan import events
from gpulint.knowledge import LEGACY_OPTIMIZERS, fact
from gpulint.knowledge.devices import DeviceName, parse_device
from gpulint.knowledge.facts import Fact, Kind
from gpulint.knowledge.watched import CLEARS_SESSION, GLOBAL_POLICY, OBJECTS, POLICIES, SETS_POLICY, WATCHED
from gpulint.places import Site

Handler = Callable[[Machine, Arguments, Site], Value]


def call_name(machine: Machine, function: LibraryName, arguments: Arguments, site: Site) -> Value:
    """Result of calling a library's function or class."""
    api_removals.check_call(machine, function.name, function.package, site)
    api_removals.check_arguments(machine, function, arguments, site)
    if function.is_private:
        return _call_private(machine, function.name, arguments, site)
    return call_library(machine, function.name, arguments, site)


def _call_private(machine: Machine, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of calling a name in TensorFlow's private copy of Keras 2, whose objects keep members that others lost."""
    outer, machine.library_state.is_private = machine.library_state.is_private, True
    try:
        made = call_library(machine, name, arguments, site)
    finally:
        machine.library_state.is_private = outer
    if isinstance(made, Object) and made.site == site:
        made.is_private = True
    return made


def call_library(machine: Machine, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of calling the library function or class `name`. Emits the events of the call."""
    stateful_ops.note_op(machine, name, arguments, site)
    generator_sources.record_call(machine, name, site)
    host_random.function_called(machine, name, site)
    keras_loaders.record_call(machine, name, site)
    host_sync.await_person(machine, name, arguments, site)
    if name in CLEARS_SESSION and machine.plan.has_keras_3:
        machine.state.write(machine.library_state.policy, "global", Constant("float32"))  # measured on Keras 3.15
    if name in WATCHED:
        is_private = machine.library_state.is_private
        machine.emit(events.LibraryCalled(site, machine.where(), name, arguments, is_private=is_private))
    if handler := SPECIAL.get(name):
        return handler(machine, arguments, site)
    if name.startswith("builtins."):
        return builtins.call_builtin(machine, name[9:], arguments, site)
    if name in OBJECTS:
        return _object(machine, name, arguments, site)
    known = fact(name)
    if known is not None:
        return BY_KIND[known.kind](machine, name, known, arguments, site)
    owner, _, method = name.rpartition(".")
    if method in ("from_config", "from_pretrained") and (known := fact(owner)) is not None:
        return BY_KIND[known.kind](machine, owner, known, Arguments(open=True), site)
    if method == "from_pretrained" and owner.startswith("transformers.TF"):
        return foreign_objects.pretrained(machine, site)
    if method == "preprocess_input" and (known := fact("tensorflow.identity")) is not None:
        if any(isinstance(value, Tensor) for value in arguments.positional[:1]):
            return BY_KIND[known.kind](machine, name, known, arguments, site)
    return _unknown(machine, name, arguments, site)


def _unknown(machine: Machine, name: str, arguments: Arguments, site: Site) -> Value:
    for value in arguments.all():
        escape.escape(machine, value, "passed", site)
    if name.startswith("numpy.") and name not in _OF_KINDS:
        for value in tensors.flattened(arguments.positional):
            tensors.read_at(machine, value, "array", site)
        return Unknown(("call", ("external", name), host_sync.symbols(arguments, site)))
    is_logger = name.startswith(loggers.PREFIXES) or name in loggers.FUNCTIONS
    if is_logger:
        loggers.print_arguments(machine, arguments, site)
    result = Unknown(("call", ("external", name), tuple(_symbol(value) for value in arguments.all())))
    if name in threads.THREADS or name in threads.PROCESSES:
        threads.run_target(machine, name, arguments, site)
    elif not is_logger:
        host_sync.pass_host_values(machine, name.rpartition(".")[2], arguments, site)
        tuners.run_trials(machine, name, arguments, site, result.symbol)
        minimizers.run_step(machine, name, arguments, site)
    return result


def _symbol(value: Value) -> Symbol:
    """Symbol of a value. For a union of few alternatives, it contains the symbol of each."""
    if isinstance(value, Union) and len(value.alternatives) <= MAX_NAMED:
        return symbol(("value", value.serial, *(symbol_of(option) for _, option in value.alternatives)))
    return symbol_of(value)


MAX_NAMED = 4
"""Maximum number of alternatives spelled out in a result's symbol."""

_OF_KINDS = frozenset({"numpy.isscalar", "numpy.iterable", "numpy.ndim", "numpy.shape", "numpy.size"})
"""Functions that inspect the type or shape of a value, not its content (they do not call `__array__` on 2.21)."""


def _object(machine: Machine, name: str, arguments: Arguments, site: Site) -> Value:
    """Instance of a library class whose attributes and methods are tracked."""
    known = fact(name)
    if known is not None:
        device_runtime.may_initialise(machine, known, site)
    for value in arguments.all():
        escape.escape(machine, value, "stored", site)
    made = Instance(site, machine.where(), name)
    machine.state.write(made.facts, ObjectFact.ARGUMENTS, Constant(arguments))
    if name == "tensorflow.train.Checkpoint":
        for key, value in arguments.keywords.items():
            machine.state.write(made.attributes, key, value)
    return made


# ------------------------------------------------------------------------------- by kind


_OF_ONE_MACHINE = frozenset({"mirrored", "central_storage"})
"""Kinds of strategy whose replicas are the GPUs of one machine."""


def _strategy(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    if known.detail == "default":
        current = machine.context.strategy
        if current is not None:
            return current
        return Strategy(site, machine.where(), name, "default", None)
    state, since = device_runtime.state(machine)
    device_runtime.may_initialise(machine, known, site)
    devices = arguments.of("devices", known.params) or arguments.of("device", known.params)
    for value in tensors.flattened([machine.choose(devices)] if devices is not None else []):
        use_device_name(machine, value, name, site)
    named_for_work = devices or arguments.of("compute_devices", known.params)
    alone = known.detail in _OF_ONE_MACHINE and (
        device_runtime.logical_gpus(machine) == 1 if named_for_work is None else _is_one(machine, named_for_work)
    )
    strategy = Strategy(site, machine.where(), name, known.detail, devices, alone)
    machine.emit(events.StrategyBuilt(site, machine.where(), strategy, arguments, state, since))
    return strategy


def _is_one(machine: Machine, devices: Value) -> bool:
    """Whether the value is a list of one element in every alternative on the present path."""
    options = [option for _, option in alternatives(devices, machine.path)]
    return all(isinstance(one, Items) and one.items is not None and len(one.items) == 1 for one in options)


def _model(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    inputs = [machine.choose(value) for value in tensors.flattened(machine.choose(v) for v in arguments.all())]
    has_shape = any(map(objects.has_shape, inputs))
    if any(objects.has_shape(value) and not isinstance(value, Model) for value in inputs):
        device_runtime.initialise(machine, "yes", site)
    model = objects.make_model(machine, site, name)
    if has_shape or arguments.open:
        objects.variables_built(machine, model, is_known=has_shape)
    dtype_policy.remember_parts(machine, model, name, arguments)
    wholes = {model_parts.whole_of(symbol_of(one)) for one in leaves(arguments.get("inputs", 0) or NONE)}
    model.part_of = wholes.pop() if len(wholes) == 1 else None
    return model


def _model_factory(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    device_runtime.initialise(machine, "yes", site)
    if name.endswith(".clone_model") and isinstance(original := arguments.of("model", known.params), Model):
        machine.emit(events.WeightsUsed(site, machine.where(), original, "clone_model", arguments))
    model = objects.make_model(machine, site, name)
    objects.variables_built(machine, model)
    return model


def _layer(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    layer = Layer(site, machine.where(), name, policy=dtype_policy.policy_of(machine, arguments))
    if (seed := arguments.get("seed")) is not None:
        machine.state.write(layer.facts, ObjectFact.SEED, machine.choose(seed))
    activation = arguments.get("activation", 0 if name.endswith(".Activation") else None)
    named = symbol_of(machine.choose(activation)).words if activation is not None else frozenset({name})
    if any(word.rpartition(".")[2].lower() in tensors.SQUASHES for word in named):
        machine.state.write(layer.facts, ObjectFact.SQUASHES, Constant(True))
    machine.emit(events.LayerBuilt(site, machine.where(), layer, arguments))
    if name.endswith(".Lambda") and (function := arguments.get("function", 0)) is not None:
        machine.state.write(layer.facts, ObjectFact.FUNCTION, function)
    is_input = name.endswith(".InputLayer")
    if is_input or any(word in arguments.keywords for word in ("input_shape", "batch_input_shape", "input_dim")):
        machine.state.write(layer.facts, ObjectFact.SHAPED, Constant(True))
    rate = arguments.get("rate", 0)
    if not (isinstance(rate, Constant) and rate.value in (0, 0.0)):
        device_runtime.may_initialise(machine, known, site)
    return layer


def _optimizer(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    scales = name.endswith(".LossScaleOptimizer")
    inner = arguments.get("inner_optimizer", 0) if scales else None
    if inner is not None:
        wrapped = machine.choose(inner)
        name = wrapped.library if isinstance(wrapped, Optimizer) else LEGACY_OPTIMIZERS
    api_removals.optimizer_arguments(machine, name, arguments, site)
    made = objects.make_optimizer(machine, site, name, is_refused=_is_refused(machine, arguments))
    made.scales = scales
    made.has_slots = not name.endswith(".SGD") or arguments.open or arguments.get("momentum", 1) is not None
    made.accumulates = _accumulates(arguments)
    made.may_accumulate = _may_accumulate(arguments)
    return made


def _distributed_optimizer(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of Horovod's `DistributedOptimizer`: an optimizer whose class is a subclass of the wrapped one's."""
    steps = arguments.get("backward_passes_per_step")
    accumulates = arguments.open or len(arguments.positional) > 1 or (steps is not None and known(steps) != 1)

    def wrapped(option: Value) -> Value:
        if not isinstance(option, Optimizer):
            return _unknown(machine, "horovod.tensorflow.DistributedOptimizer", arguments, site)
        made = Optimizer(option.site, option.where, option.library, option.cls)
        made.blame, made.seen, made.is_private = option.blame, option.seen, option.is_private
        made.scales, made.has_slots, made.accumulates = option.scales, option.has_slots, option.accumulates
        made.may_accumulate = option.may_accumulate or accumulates
        return made

    return machine.each(arguments.get("optimizer", 0) or NONE, wrapped, site)


def _is_refused(machine: Machine, arguments: Arguments) -> bool:
    """Whether an optimizer that creates variables raises for an argument: `lr` (run on 2.21), `decay` in Keras 2."""
    return "lr" in arguments.keywords or ("decay" in arguments.keywords and not machine.plan.has_keras_3)


def _accumulates(arguments: Arguments) -> bool:
    """Whether an optimizer is configured to accumulate the gradients of several steps."""
    steps = known(arguments.get("gradient_accumulation_steps"))
    return isinstance(steps, int) and steps > 1


def _may_accumulate(arguments: Arguments) -> bool:
    """Whether an optimizer accumulates gradients, or may do so because the number of steps is unknown."""
    steps = arguments.get("gradient_accumulation_steps")
    return arguments.open or (steps is not None and known(steps) not in (None, 1))


def _metric(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    return objects.make_metric(machine, site, name)


def _loss(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    given = arguments.of("reduction", known.params)
    reduction: str | None = None
    if given is None:
        reduction = "" if not arguments.open else None
    elif isinstance(given, Constant):
        reduction = given.value.lower() if isinstance(given.value, str) else "none"
    elif isinstance(given, LibraryName):
        reduction = given.name.rpartition(".")[2].lower()
    return Loss(site, machine.where(), name, reduction)


def _loss_function(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    device_runtime.may_initialise(machine, known, site)
    dtype_policy.in_loss(machine, arguments.all(), site)
    return tensors.loss_function(machine, name, arguments, site)


def _variable(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    initial = arguments.of("initial_value", known.params)
    dtype = tensors.named_dtype(arguments.get("dtype")) or tensors.dtype_of(initial)
    return objects.make_variable(machine, name, dtype, arguments, site)


def _config(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    device_runtime.configure(machine, name, known, arguments, site)
    device_runtime.may_initialise(machine, known, site)
    return NONE


def _query(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    device_runtime.may_initialise(machine, known, site)
    wanted = arguments.of("device_type", known.params or ("device_type",))
    kind = wanted.value if isinstance(wanted, Constant) and isinstance(wanted.value, str) else ""
    if known.detail in ("physical", "logical", "visible"):
        return DeviceList(known.detail, kind.upper())
    return Unknown(("devices", name))


def _other(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    device_runtime.may_initialise(machine, known, site)
    return _unknown(machine, name, arguments, site)


def _op(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    for value in arguments.all():
        if isinstance(value, (Function, Traced)):
            control_flow_ops.call_traced_arm(machine, value, Arguments((), {}, True), site)
    of_all = known.kind is Kind.REDUCTION and arguments.of("axis", known.params) in (None, NONE)
    if of_all or name.endswith(_TAKES_LOGITS):
        dtype_policy.in_loss(machine, arguments.all(), site)
    result = tensors.call_op(machine, name, known, arguments, site)
    if name in _SPLITS and isinstance(result, Tensor):
        return _parts(result, arguments.of("num_or_size_splits", known.params), site)
    return result


_SPLITS = frozenset({"tensorflow.split"})
"""Ops that return a list of tensors whose length an argument determines."""


def _parts(part: Tensor, told: Value | None, site: Site) -> Items:
    sizes = told.items if isinstance(told, Items) else None
    count = len(sizes) if sizes is not None else told.value if isinstance(told, Constant) else None
    if isinstance(count, int) and 0 < count <= MAX_ITEMS:
        return Items("list", (part,) * count, None, ("split", site))
    return Items("list", None, part, ("split", site))


_TAKES_LOGITS = ("_with_logits", "log_softmax", "log_sigmoid", "ctc_loss", ".log")
"""Suffixes of the names of ops that losses are computed with."""


BY_KIND: dict[Kind, Callable[[Any, str, Fact, Arguments, Site], Value]] = {
    Kind.STRATEGY: _strategy,
    Kind.MODEL: _model,
    Kind.MODEL_FACTORY: _model_factory,
    Kind.LAYER: _layer,
    Kind.OPTIMIZER: _optimizer,
    Kind.METRIC: _metric,
    Kind.LOSS: _loss,
    Kind.LOSS_FUNCTION: _loss_function,
    Kind.VARIABLE: _variable,
    Kind.DATASET: tf_data.source,
    Kind.OP: _op,
    Kind.REDUCTION: _op,
    Kind.CONFIG: _config,
    Kind.QUERY: _query,
    Kind.OTHER: _other,
}


# ------------------------------------------------------------------------------- by name


def use_device_name(machine: Machine, value: Value, consumer: str, site: Site) -> tuple[DeviceName | None, bool]:
    """Device that a value names, and whether the program chooses it at run time.

    Emits `DeviceNamed` for names that are written out.
    """

    def tell(text: str, device: DeviceName | None) -> None:
        origin = value.origin if isinstance(value, Constant) and value.origin is not None else site
        gpus = device_runtime.logical_gpus(machine) if device is not None and device.is_gpu else None
        machine.emit(events.DeviceNamed(origin, machine.where(), text, device, consumer, site, gpus))

    if isinstance(value, Constant) and isinstance(value.value, str):
        device = parse_device(value.value)
        tell(value.value, device)
        return device, bool(value.named)
    if isinstance(value, PartialString):
        template = "".join("0" if part is None else part for part in value.parts)
        device = parse_device(template)
        if device is None and template.startswith("/physical_device:"):
            tell(template, None)
        elif (
            device is not None and device.is_gpu and (chosen := device_runtime.numbered_by(machine, value)) is not None
        ):
            text = "".join("…" if part is None else part for part in value.parts)
            machine.emit(events.PhysicalNumberNamed(site, machine.where(), text, chosen))
        return replace(device, index=None) if device is not None else None, True
    if isinstance(value, ListedDevice):
        return DeviceName(value.list.type, value.index), True
    return None, True


def _device(machine: Machine, arguments: Arguments, site: Site) -> Value:
    given = arguments.get("device_name", 0) or arguments.get("device", 0) or Unknown(("device", site))

    several = isinstance(machine.choose(given), Union)

    def manager(option: Value) -> Value:
        device, chosen = use_device_name(machine, option, "tensorflow.device", site)
        chosen = chosen or several or (isinstance(option, Constant) and option.is_default)
        if isinstance(option, Constant) and option.value is None:
            device, chosen = None, False
        return DeviceManager(site, DeviceScope(site, device, chosen), option)

    return machine.each(given, manager, site)


def _device_spec(machine: Machine, arguments: Arguments, site: Site) -> Value:
    params = ("job", "replica", "task", "device_type", "device_index")
    kind, index = arguments.of("device_type", params), arguments.of("device_index", params)
    if isinstance(kind, Constant) and isinstance(kind.value, str):
        if isinstance(index, Constant) and isinstance(index.value, int):
            return Constant(f"/device:{kind.value}:{index.value}", site, index.named)
        return PartialString((f"/device:{kind.value}:", None), ("text", site))
    return Unknown(("device", site))


def _device_spec_from_string(machine: Machine, arguments: Arguments, site: Site) -> Value:
    spec = machine.choose(arguments.get("spec", 0) or NONE)
    use_device_name(machine, spec, "tensorflow.DeviceSpec", site)
    return spec


def _function(machine: Machine, arguments: Arguments, site: Site) -> Value:
    jit = arguments.get("jit_compile") or arguments.get("experimental_compile") or NONE
    signature = arguments.get("input_signature", 1)
    signed = signature is not None and not (isinstance(signature, Constant) and signature.value is None)
    function = arguments.get("func", 0)
    if function is None or isinstance(function, Constant):
        return Partial(LibraryName("tensorflow.function"), arguments._replace(sites={"": site}))
    return machine.each(function, lambda option: tf_function.trace(machine, option, jit, site, signed), site)


def _partial(machine: Machine, arguments: Arguments, site: Site) -> Value:
    if not arguments.positional:
        return Unknown(("partial", site))
    function, *rest = arguments.positional
    return Partial(function, arguments._replace(positional=tuple(rest)))


def _halt(machine: Machine, arguments: Arguments, site: Site) -> Value:
    raise PathEnds


def _run_main(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `app.run(main)`, which calls `main` with the remaining command-line arguments and then exits."""
    main = arguments.get("main", 0)
    if main is not None:
        return machine.each(main, lambda option: machine.call(option, Arguments((Unknown(("argv",)),)), site), site)
    value = machine.frame.module.globals.get("main")
    if isinstance(value, Value):
        machine.call(machine.choose(value), Arguments((Unknown(("argv",)),)), site)
    return NONE


def _null_context(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return NullManager(site, arguments.get("enter_result", 0) or NONE)


def _suppress(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `contextlib.suppress(…)`, which ends its body at one of these errors and goes on after it."""
    errors = (value.name.rpartition(".")[2] if isinstance(value, LibraryName) else "" for value in arguments.all())
    return NullManager(site, NONE, tuple(errors))


def _exit_stack(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return ExitStackManager(site)


def _environ_default(machine: Machine, arguments: Arguments, site: Site) -> Value:
    key, value = arguments.get("key", 0), arguments.get("value", 1)
    if key is not None and value is not None:
        device_runtime.environment_set(machine, key, value, site)
    return value or NONE


def _environ_update(machine: Machine, arguments: Arguments, site: Site) -> Value:
    given = arguments.get("", 0)
    if isinstance(given, Mapping):
        for key, value in given.entries.items():
            device_runtime.environment_set(machine, Constant(key), value, site)
    for name, value in arguments.keywords.items():
        device_runtime.environment_set(machine, Constant(name), value, site)
    return NONE


def _environ_get(machine: Machine, arguments: Arguments, site: Site) -> Value:
    key = arguments.get("key", 0)
    return device_runtime.environment_read(machine, key) if key is not None else Unknown(("environment", site))


def _set_strategy(machine: Machine, arguments: Arguments, site: Site) -> Value:
    strategy = machine.choose(arguments.get("strategy", 0) or NONE)
    if isinstance(strategy, Strategy):
        machine.emit(events.StrategyUsed(site, machine.where(), strategy, "set"))
        machine.context = machine.context._replace(scopes=(StrategyScope(site, strategy),))
    elif known(strategy) is None:
        machine.context = machine.context._replace(scopes=())
    machine.frame.enters = True  # the strategy stays when the function returns
    return NONE


def _tape(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return Tape(site, machine.where(), known(arguments.get("persistent", 0)) is True)


def _average_loss(machine: Machine, arguments: Arguments, site: Site) -> Value:
    if (size := arguments.get("global_batch_size", 2)) is not None:
        machine.emit(events.GlobalSizeUsed(site, machine.where(), size, averages=True))
    result = tensors.derived(machine, site, arguments.all())
    if isinstance(result, Tensor):
        return Tensor(site, result.device, None, Reduced("scaled", site), scope=result.scope)
    return result


def _input(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return Tensor(site, symbolic=True)


def _is_tensor(machine: Machine, arguments: Arguments, site: Site) -> Value:
    value = arguments.get("x", 0)
    if isinstance(value, (Tensor, Variable)):
        return Constant(True)
    if isinstance(value, (Constant, Items, Mapping)):
        return Constant(False)
    return _unknown(machine, "tensorflow.is_tensor", arguments, site)


def _transformation(name: str) -> Handler:
    return lambda machine, arguments, site: Transformation(tf_data.calls_of_transformation(name, arguments))


def _import_module(machine: Machine, arguments: Arguments, site: Site) -> Value:
    name, package = arguments.get("name", 0), known(arguments.get("package", 1))
    first, *rest = name.parts if isinstance(name, PartialString) else (known(name),)
    if isinstance(first, str) and first.startswith(".") and isinstance(package, str):
        first = package + first if first[1:2] != "." else ""
    if not isinstance(first, str) or not first or first.startswith("."):
        return Unknown(("module", site))
    if name is not None and rest:
        found = dynamic_lookup.module_of(machine, PartialString((first, *rest), ("module", symbol_of(name))), site)
        return found or Unknown(("module", site))
    return imports.loaded(machine, first, site)


def _import_function(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `__import__`, which returns the top-level package when no `fromlist` is given."""
    if known(arguments.get("fromlist", 3)) is None and isinstance(name := known(arguments.get("name", 0)), str):
        arguments = Arguments((Constant(name.partition(".")[0]),), {})
    return _import_module(machine, Arguments(arguments.positional[:1], arguments.keywords), site)


def _collect(machine: Machine, arguments: Arguments, site: Site) -> Value:
    machine.emit(events.LibraryCalled(site, machine.where(), "gc.collect", arguments))
    return Unknown(("collected", site))


def _default_dict(machine: Machine, arguments: Arguments, site: Site) -> Value:
    made = Mapping({}, False, ("dict", site))
    factory = arguments.get("default_factory", 0)
    empty = machine.choose(machine.call(factory, Arguments(), site)) if factory is not None else None
    made.makes_lists = isinstance(empty, Items) and empty.kind == "list" and empty.items == ()
    made.around = machine.context.loops
    return made


def _passed_on(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Iterable that a progress bar wraps."""
    return arguments.get("iterable", 0) or Unknown(("iterable", site))


def _sliced(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `islice(iterable, stop)` or `islice(iterable, start, stop, …)`: at most `stop` elements."""
    iterable = arguments.get("", 0)
    if iterable is None or not (data := dataset_iterables([iterable])):
        return _unknown(machine, "itertools.islice", arguments, site)
    _, element = elements(machine, iterable, site)
    stop = builtins.call_builtin(machine, "range", Arguments(arguments.positional[1:3][-1:]), site)
    return Items("list", None, element, ("islice", site), (*data, stop))


def _chained(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `chain(*iterables)`. The total number of elements is unknown."""
    data = dataset_iterables(arguments.positional)
    if not data:
        return _unknown(machine, "itertools.chain", arguments, site)
    _, element = elements(machine, data[0], site)
    return Items("generator", None, element, ("chain", site), data)


def _logical_device(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return Unknown(("logical device", site))


def _global_policy(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return machine.choose(machine.library_state.policy["global"])


def _indexed_slices(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Values of a sparse tensor (`tf.IndexedSlices`)."""
    return machine.choose(arguments.get("values", 0) or Unknown(("slices", site)))


def _some_optimizer(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return objects.make_optimizer(machine, site, "tensorflow.keras.optimizers.Optimizer")


def _optimizer_got(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `keras.optimizers.get`: an optimizer is returned unchanged, a name or config creates one."""

    def got(option: Value) -> Value:
        if isinstance(option, Mapping) or (isinstance(option, Constant) and isinstance(option.value, str)):
            return _some_optimizer(machine, arguments, site)
        return option if isinstance(option, Optimizer) else Unknown(("optimizer", site))

    return machine.each(arguments.get("identifier", 0) or NONE, got, site)


def _to_numpy(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of a function that reads a tensor: an array."""

    def read(option: Value) -> Value:
        tensors.read_at(machine, option, "numpy", site)
        is_read = isinstance(option, Variable) or (isinstance(option, Tensor) and not option.from_data)
        return host_sync.host_value(site, "numpy") if is_read else Unknown(("host", site))

    return machine.each(arguments.get("x", 0) or NONE, read, site)


def _first(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """First argument, for wrappers whose addition does not matter to the analysis."""
    return arguments.positional[0] if arguments.positional else Unknown(("first", site))


SPECIAL: dict[str, Handler] = {
    "tensorflow.device": _device,
    "tensorflow.DeviceSpec": _device_spec,
    "tensorflow.DeviceSpec.from_string": _device_spec_from_string,
    "tensorflow.function": _function,
    "functools.partial": _partial,
    "functools.wraps": lambda machine, arguments, site: LibraryName("functools.wraps()"),
    "functools.lru_cache": lambda machine, arguments, site: LibraryName("functools.lru_cache()"),
    "functools.wraps()": lambda machine, arguments, site: arguments.get("", 0) or NONE,
    "functools.lru_cache()": lambda machine, given, site: decorators.behind(given.get("", 0) or NONE, memoized=True),
    "contextlib.nullcontext": _null_context,
    "contextlib.suppress": _suppress,
    "contextlib.ExitStack": _exit_stack,
    "contextlib.contextmanager": lambda machine, arguments, site: ContextManagerFunction(arguments.get("", 0) or NONE),
    "os.environ.setdefault": _environ_default,
    "os.environ.update": _environ_update,
    "os.environ.get": _environ_get,
    "os.getenv": _environ_get,
    "os.putenv": _environ_default,
    "sys.exit": _halt,
    "os._exit": _halt,
    "os.abort": _halt,
    "builtins.exit": _halt,
    "builtins.quit": _halt,
    "absl.app.run": _run_main,
    "tensorflow.compat.v1.app.run": _run_main,
    "tensorflow.distribute.experimental_set_strategy": _set_strategy,
    "tensorflow.GradientTape": _tape,
    "horovod.tensorflow.DistributedGradientTape": _first,
    **{f"horovod.{name}.DistributedOptimizer": _distributed_optimizer for name in ("tensorflow", "tensorflow.keras")},
    "horovod.keras.DistributedOptimizer": _distributed_optimizer,
    "tensorflow.IndexedSlices": _indexed_slices,
    "tensorflow.nn.compute_average_loss": _average_loss,
    "tensorflow.is_tensor": _is_tensor,
    "tensorflow.keras.Input": _input,
    "tensorflow.keras.backend.get_value": _to_numpy,
    "tensorflow.keras.ops.convert_to_numpy": _to_numpy,
    "tensorflow.keras.optimizers.Optimizer": _some_optimizer,
    "tensorflow.keras.optimizers.deserialize": _some_optimizer,
    "tensorflow.keras.optimizers.get": _optimizer_got,
    "tensorflow.config.LogicalDeviceConfiguration": _logical_device,
    "collections.defaultdict": _default_dict,
    **dict.fromkeys(
        ("dataclasses.field", "attr.ib", "attr.field", "attrs.field", "pydantic.Field"), dataclass_fields.field
    ),
    **dict.fromkeys(("attr.Factory", "attrs.Factory"), dataclass_fields.factory),
    **dict.fromkeys(("types.SimpleNamespace", "argparse.Namespace", "easydict.EasyDict"), dataclass_fields.namespace),
    "builtins.__import__": _import_function,
    "gc.collect": _collect,
    "importlib.import_module": _import_module,
    **{f"tensorflow.data.experimental.{name}": _transformation(name) for name in tf_data.TRANSFORMATIONS},
    **dict.fromkeys(("tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.tqdm_notebook"), _passed_on),
    **dict.fromkeys(("tqdm.autonotebook.tqdm", "rich.progress.track", "alive_progress.alive_it"), _passed_on),
    "itertools.islice": _sliced,
    "itertools.chain": _chained,
    **dict.fromkeys(SETS_POLICY, dtype_policy.policy_set),
    **dict.fromkeys(POLICIES, dtype_policy.policy_made),
    **dict.fromkeys(GLOBAL_POLICY, _global_policy),
    **control_flow_ops.HANDLERS,
}
