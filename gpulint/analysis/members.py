"""Objects: making them, their library attributes, calling them, and where they escape to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from gpulint.analysis import calls, effects, events, fields, managers, precision, removed, runtime, tensors, threads
from gpulint.analysis.contexts import Where
from gpulint.analysis.control import Halts
from gpulint.analysis.paths import Path, compatible
from gpulint.analysis.rounds import is_single
from gpulint.analysis.values import (
    NONE,
    Arguments,
    Bound,
    Constant,
    Function,
    Instance,
    Items,
    Join,
    Layer,
    Loss,
    Manager,
    Mapping,
    Metric,
    Model,
    Object,
    Optimizer,
    Partial,
    PerReplica,
    Strategy,
    Tape,
    Tensor,
    Unknown,
    UserClass,
    Value,
    Variable,
    known,
    symbol_of,
)
from gpulint.knowledge import FIRST_WITH_VARIABLES, LEGACY_OPTIMIZERS, fact
from gpulint.knowledge.facts import Kind
from gpulint.knowledge.watched import OBJECTS, OPTIONS
from gpulint.places import Site
from gpulint.syntax import ir

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Frame, Interpreter

_PROPERTIES: dict[type, frozenset[str]] = {
    Strategy: frozenset({"num_replicas_in_sync", "extended", "cluster_resolver", "tpu_hardware_feature"}),
    Model: frozenset(
        [
            "trainable_variables",
            "trainable_weights",
            "variables",
            "weights",
            "non_trainable_variables",
            "losses",
            "layers",
            "inputs",
            "outputs",
            "input",
            "output",
            "optimizer",
            "name",
            "metrics",
            "metrics_names",
            "stop_training",
            "input_shape",
            "output_shape",
            "loss",
            "trainable",
            "dtype",
            "history",
            "compiled_loss",
            "compiled_metrics",
            "built",
            "distribute_strategy",
        ]
    ),
    Optimizer: frozenset({"iterations", "learning_rate", "lr", "variables", "weights", "inner_optimizer", "name"}),
    Variable: frozenset({"shape", "dtype", "name", "device", "handle", "trainable"}),
    Layer: frozenset(
        [
            "weights",
            "trainable_weights",
            "trainable_variables",
            "variables",
            "output",
            "input",
            "kernel",
            "bias",
            "name",
            "units",
        ]
    ),
    Metric: frozenset({"variables", "weights", "name", "dtype"}),
}

MAX_ESCAPE_DEPTH = 3
"""Containers inside containers that are searched for strategies."""


# ------------------------------------------------------------------------------- making


def instantiate(interp: Interpreter, cls: UserClass, arguments: Arguments, site: Site) -> Value:
    """Call a class of the program."""
    libraries = cls.libraries()
    made = _of_kind(interp, cls, libraries, arguments, site)
    if (constructor := cls.find("__init__")) is not None:
        calls.call_method(interp, made, constructor[0], arguments, site)
    else:
        fields.fill(interp, cls, made, arguments, site)
        if not isinstance(made, Instance) or libraries or cls.is_open:
            for value in arguments.all():
                escaped(interp, value, "passed", site)
    return made


def _of_kind(interp: Interpreter, cls: UserClass, libraries: list[str], arguments: Arguments, site: Site) -> Object:
    for library in libraries:
        known = fact(library)
        if known is None:
            continue
        if known.kind is Kind.MODEL:
            return make_model(interp, site, library, cls)
        if known.kind is Kind.LAYER:
            return Layer(site, interp.where(), library, cls, precision.policy_of(interp, arguments))
        if known.kind is Kind.OPTIMIZER:
            made = make_optimizer(interp, site, library, cls)
            made.may_accumulate = arguments.open or any("accum" in name.lower() for name in arguments.keywords)
            return made
        if known.kind is Kind.METRIC:
            return make_metric(interp, site, library, cls)
        if known.kind is Kind.LOSS:
            return Loss(site, interp.where(), library, None, cls)
    return Instance(site, interp.where(), libraries[0] if libraries else "", cls)


def make_model(interp: Interpreter, site: Site, library: str, cls: UserClass | None = None) -> Model:
    return _announced(interp, Model(site, interp.where(), library, cls), events.ModelBuilt)


BUILT = ".built"
"""Attribute of a model: whether its variables were made with no strategy in force. It has none before any are made."""


def built(interp: Interpreter, model: Model, is_known: bool = True) -> None:
    """The variables of a model are made, unless they have been; `is_known`: certainly."""
    if BUILT not in model.attributes:
        outside = Constant(interp.context.is_outside) if is_known else Unknown(("built", model.symbol))
        interp.state.write(model.attributes, BUILT, outside)


def has_shape(value: Value) -> bool:
    """Whether a part of a model says what shape its input has, or has variables itself: the model has some at once."""
    if isinstance(value, Model):
        return known(value.attributes.get(BUILT)) is True
    return isinstance(value, Tensor) or (isinstance(value, Layer) and SHAPED in value.attributes)


SHAPED = ".shaped"
"""Attribute of a layer that is told the shape of its input."""


def is_first_call(model: Model, method: Value) -> bool:
    """Whether the first call of a model is one of its own method `call`, by that name."""
    return BUILT not in model.attributes and isinstance(method, Function) and method.name == "call"


def called(interp: Interpreter, model: Model, how: str, arguments: Arguments, site: Site) -> None:
    """A model is used (`events.ModelCalled`). Its first call makes its variables."""
    before = model.attributes.get(BUILT)
    has = "no" if before is None else "outside" if known(before) is True else ""
    interp.emit(events.ModelCalled(site, interp.where(), model, how, arguments, has))
    if how != "variables":
        built(interp, model)


def make_optimizer(
    interp: Interpreter, site: Site, library: str, cls: UserClass | None = None, is_refused: bool = False
) -> Optimizer:
    """An optimizer; one that `is_refused` what it is given has made no variable when it raises."""
    has_variables = interp.plan.release_of_target >= FIRST_WITH_VARIABLES and not library.startswith(LEGACY_OPTIMIZERS)
    if has_variables and not is_refused:
        runtime.initialised(interp, "yes", site)
    return _announced(interp, Optimizer(site, interp.where(), library, cls), events.OptimizerBuilt)


def make_metric(interp: Interpreter, site: Site, library: str, cls: UserClass | None = None) -> Metric:
    known = fact(library)
    if cls is not None or known is None:
        runtime.initialised(interp, "yes", site)
    else:
        runtime.called(interp, known, site)
    return _announced(interp, Metric(site, interp.where(), library, cls), events.MetricBuilt)


def make_variable(interp: Interpreter, site: Site, dtype: str | None) -> Variable:
    runtime.initialised(interp, "yes", site)
    return _announced(interp, Variable(site, interp.where(), dtype), events.VariableBuilt)


M = TypeVar("M", bound=Object)


def _announced(interp: Interpreter, made: M, event: Callable[[Site, Where, M], events.Event]) -> M:
    """Note who could have made an object in the right place, and tell the rules of it."""
    made.blame, made.seen = blame(interp, made.site)
    interp.emit(event(made.site, interp.where(), made))
    return made


# -------------------------------------------------------------------------------- blame


def blame(interp: Interpreter, site: Site) -> tuple[Site | None, Strategy | None]:
    """The call to change for something made at `site` in the wrong place: in the innermost function of the
    present call chain that can see a strategy, and that strategy. (None, None) where no function can."""
    frame: Frame | None = interp.frame
    place = site
    while frame is not None:
        if (strategy := _seen_strategy(interp, frame)) is not None:
            return place, strategy
        if frame.caller.site is None or frame.parent is None:
            return None, None
        if not isinstance(frame.definition, ir.ClassDef):
            place = frame.caller.site
        frame = frame.parent
    return None, None


def _seen_strategy(interp: Interpreter, frame: Frame) -> Strategy | None:
    for value in list(frame.locals.values()):
        if (found := _strategy_in(value, interp.path, 1)) is not None:
            return found
    if frame.locals is frame.module.globals or frame.definition is None:
        return None
    words = interp.words_of(frame.definition)
    for scope in (*frame.closure, frame.module.globals):
        for name, value in list(scope.items()):
            if name in words and (found := _strategy_in(value, interp.path, 1) or _got(interp, value)) is not None:
                return found
    return None


def _got(interp: Interpreter, value: Any) -> Strategy | None:
    """The strategy that a function of the program gives which keeps it in a variable of its module."""
    if not isinstance(value, Function) or not isinstance(value.definition, ir.FunctionDef):
        return None
    given = {
        node.value.id
        for node in ir.below(value.definition)
        if isinstance(node, ir.Return) and isinstance(node.value, ir.Name)
    }
    kept = (value.module.globals[name] for name in sorted(given) if name in value.module.globals)
    return next((found for one in kept if (found := _strategy_in(one, interp.path, 1)) is not None), None)


def _strategy_in(value: Any, path: Path, depth: int) -> Strategy | None:
    """A multi-replica strategy that a value is, can be, or keeps as an attribute."""
    if isinstance(value, Join):
        parts = [option for guard, option in value.alternatives if compatible(path, guard)]
    elif isinstance(value, Instance) and depth:
        parts, depth = list(value.attributes.values()), depth - 1
    else:
        return value if isinstance(value, Strategy) and value.is_multi_replica else None
    return next((found for part in parts if (found := _strategy_in(part, path, depth)) is not None), None)


def unmade(interp: Interpreter, owner: UserClass, site: Site) -> Value:
    """An instance of a class that the program itself does not make: constructed from unknown arguments."""
    if owner.serial in interp.instances:
        made, changes = interp.instances[owner.serial]
        interp.state.apply({**changes, **interp.filled})
        return made
    mark = interp.state.mark()
    made = Unknown(("instance", owner.module.path, owner.name))
    interp.instances[owner.serial] = (made, {})
    with suppress(Halts):
        made = instantiate(interp, owner, Arguments((), {}, True), site)
    interp.instances[owner.serial] = (made, interp.made_since(mark))
    return made


# ---------------------------------------------------------------------------- attributes


OF_MODEL = ".of"
"""Attribute of a layer that a model was asked for: the model."""


def library_attribute(interp: Interpreter, receiver: Object, name: str, node: ir.Node) -> Value:
    """An attribute that the library class of an object has."""
    symbol: tuple[Any, ...] = ("attribute", receiver.symbol, name)
    if name in ("input", "output") and isinstance(whole := receiver.attributes.get(OF_MODEL), Model):
        symbol = ("attribute", ("layer_of", whole.symbol, receiver.serial), name)
    if isinstance(receiver, Strategy):
        interp.emit(events.StrategyUsed(interp.site(node), interp.where(), receiver, "attribute"))
        if name == "num_replicas_in_sync":
            return Unknown(("replicas", receiver.symbol))
    for kind, names in _PROPERTIES.items():
        if isinstance(receiver, kind):
            removed.method(interp, receiver, name, interp.site(node))
            if name not in names:
                return Bound(receiver, name)
            removed.property_read(interp, receiver, name, Unknown(symbol).symbol)
            if isinstance(receiver, Model) and name == "optimizer" and ".compiled" in receiver.attributes:
                return _optimizer_of(interp, receiver)
            if isinstance(receiver, Model) and name == "metrics":
                metric = Metric(receiver.site, receiver.where, "tensorflow.keras.Metric")
                metric.is_private = receiver.is_private
                return Items("list", None, metric, symbol)
            if isinstance(receiver, Optimizer) and name == "iterations":
                return Variable(receiver.site, receiver.where, "int64", counts_steps=True)
            if (isinstance(receiver, Model) and "variables" in name) or name == "trainable_weights":
                if isinstance(receiver, Model):
                    called(interp, receiver, "variables", Arguments(), interp.site(node))
            return Unknown(symbol)
    if isinstance(receiver, (Tape, Loss)):
        return Bound(receiver, name)
    if isinstance(receiver, Instance) and threads.starts(receiver, name):
        return Bound(receiver, name)
    if isinstance(receiver, Instance) and receiver.library in OBJECTS and receiver.cls is None:
        if receiver.library not in OPTIONS:
            return Bound(receiver, name)
        part = Instance(receiver.site, receiver.where, "tensorflow.data.Options")
        interp.state.write(receiver.attributes, name, part)
        return part
    return Unknown(symbol)


def _optimizer_of(interp: Interpreter, model: Model) -> Value:
    """The optimizer with which a model was compiled: the object, or the one that Keras makes for a name."""
    given = interp.choose(model.attributes.get(".optimizer", NONE))
    if isinstance(given, Constant):
        given = Optimizer(model.site, model.where, "tensorflow.keras.optimizers.Optimizer")
        given.is_private = model.is_private
        interp.state.write(model.attributes, ".optimizer", given)
    return given


def tensor_attribute(interp: Interpreter, receiver: Tensor | PerReplica, name: str, node: ir.Node) -> Value:
    if name == "shape" and isinstance(receiver, Tensor):
        return Tensor(interp.site(node), shape_of=True, static=True)
    if name == "values" and isinstance(receiver, PerReplica):
        return Items("tuple", None, receiver.value)
    if name in ("values", "indices") and isinstance(receiver, Tensor) and receiver.gradient is not None:
        return Tensor(interp.site(node), receiver.device, receiver.dtype, gradient=receiver.gradient)
    if name in ("dtype", "device", "name", "backing_device"):
        return Unknown(("attribute", symbol_of(receiver), name))
    return Bound(receiver, name)


# ------------------------------------------------------------------------------- calling


FUNCTION = ".function"
"""Attribute of a Lambda layer: what it calls."""


def call_object(interp: Interpreter, receiver: Object, arguments: Arguments, site: Site) -> Value:
    """`receiver(…)`."""
    if isinstance(receiver, Model):
        runtime.initialised(interp, "yes", site)
        called(interp, receiver, "call", arguments, site)
    if isinstance(receiver, (Model, Layer)) and known(arguments.get("training")) is not False:
        effects.of_layer(interp, receiver, site)
    if receiver.cls is not None:
        name = "call" if isinstance(receiver, (Model, Layer, Loss)) else "__call__"
        if found := receiver.cls.find(name):
            result = interp.choose(calls.call_method(interp, receiver, found[0], arguments, site))
            if isinstance(receiver, Loss):
                return Tensor(site)
            if isinstance(receiver, Model):
                interp.state.write(receiver.attributes, precision.OUTPUTS, result)
            return Tensor(site) if isinstance(receiver, (Model, Layer)) and isinstance(result, Unknown) else result
    if isinstance(receiver, Layer) and interp.context.traced is not None and FUNCTION in receiver.attributes:
        interp.call(interp.choose(receiver.attributes[FUNCTION]), Arguments(arguments.positional, open=True), site)
    if isinstance(receiver, (Model, Layer)):
        if any(isinstance(value, Tensor) for value in tensors.flattened(arguments.all())):
            runtime.initialised(interp, "yes", site)
        inputs = tensors.flattened(arguments.all())
        heads = precision.heads(interp, receiver) if isinstance(receiver, Model) else ()
        if len(heads) > 1:
            outputs = [tensors.derived(interp, site, inputs) for _ in heads]
            for output, layer in zip(outputs, heads, strict=True):
                if isinstance(output, Tensor):
                    output.layer = layer
            return Items("list", tuple(outputs), None, ("outputs", receiver.symbol, site))
        given = tensors.derived(interp, site, inputs)
        if isinstance(given, Tensor):
            if isinstance(receiver, Layer) and len(inputs) == 1:
                precision.hands_on(interp, receiver, inputs[0])
                is_batch = receiver.library in TAKE_LISTS and isinstance(arguments.get("inputs", 0), Items)
                given.single = is_batch or is_single(inputs[0])
            layers = [receiver] if isinstance(receiver, Layer) else precision.output_layers(interp, receiver)
            given.layer = layers[0] if len(layers) == 1 else None
        return given
    if isinstance(receiver, Loss):
        precision.in_loss(interp, arguments.all(), site)
        return tensors.loss(interp, receiver, arguments, site)
    if isinstance(receiver, Metric):
        for value in arguments.all():
            tensors.read_at(interp, value, "metric", site)
        updated(interp, receiver, "__call__", site)
        return Tensor(site)
    for value in arguments.all():
        escaped(interp, value, "passed", site)
    return Unknown(("call", receiver.symbol, tuple(symbol_of(value) for value in arguments.all())))


TAKE_LISTS = frozenset(
    f"tensorflow.keras.layers.{name}" for name in ("IntegerLookup", "StringLookup", "TextVectorization")
)
"""Layers that are given a list of examples, and not of inputs."""


def updated(
    interp: Interpreter, target: Variable | Metric, method: str, site: Site, given: Iterable[Value] = ()
) -> None:
    """A variable or metric changes; a variable is given one of those."""
    given = tuple(given)
    gradient = next((one for one in given if isinstance(one, Tensor) and one.gradient is not None), None)
    by_number = bool(given) and all(isinstance(known(one), (int, float)) for one in given)
    by_python = not interp.context.may_be_traced or interp.branches == interp.frame.branches
    interp.emit(events.StateUpdated(site, interp.where(), target, method, gradient, by_number and by_python))


# ------------------------------------------------------------------------------ escaping


def escaped(interp: Interpreter, value: Any, how: str, site: Site) -> None:
    """A value goes where gpulint does not follow: strategies and scopes in it count as used, others have the tapes, and
    may call the models that they are given."""
    for one in _within(value):
        if isinstance(one, Strategy):
            interp.emit(events.StrategyUsed(site, interp.where(), one, how))
        elif isinstance(one, Tape):
            one.is_persistent = False
        elif isinstance(one, Variable) and how == "passed":
            one.is_handed_out = True
        elif isinstance(one, Model) and how == "passed":
            built(interp, one, is_known=False)
        elif isinstance(one, Manager) and one.kind == "scope":
            interp.emit(events.ScopeEntered(site, interp.where(), one.payload, one.site, True))
            interp.state.write(one.state, managers.ENTERED, True)
            interp.emit(events.StrategyUsed(site, interp.where(), one.payload, how))


def _within(value: Any) -> Iterator[Any]:
    """What others can reach through a value, each once, to a depth of MAX_ESCAPE_DEPTH."""
    depths: dict[int, int] = {}
    pending = [(value, 0)]
    while pending:
        one, depth = pending.pop()
        if not isinstance(one, Value) or depths.get(id(one), depth + 1) <= depth:
            continue
        depths[id(one)] = depth
        yield one
        if isinstance(one, Join):
            pending += [(option, depth) for _, option in reversed(one.alternatives)]
        elif depth < MAX_ESCAPE_DEPTH:
            pending += [(part, depth + 1) for part in reversed(_parts(one))]


def _parts(value: Value) -> tuple[Any, ...]:
    if isinstance(value, Items):
        return value.items or (value.element,)
    if isinstance(value, Mapping):
        return tuple(value.entries.values())
    if isinstance(value, Instance):
        return tuple(value.attributes.values())
    if isinstance(value, Partial):
        return value.arguments.all()
    return (value.receiver,) if isinstance(value, Bound) else ()


def returned(interp: Interpreter, value: Value, site: Site) -> None:
    """A function returns a value. From an entry point that nobody calls it goes to unknown callers."""
    entry = interp.frame.caller.parent
    if entry is not None and entry.site is None and not entry.known:
        escaped(interp, value, "returned", site)


def stored(interp: Interpreter, receiver: Object, name: str, value: Value, site: Site) -> None:
    """An attribute is set. Of an object of the program it can be read elsewhere by anyone."""
    if isinstance(receiver, Model) and name == "optimizer" and isinstance(value, Optimizer):
        interp.state.write(receiver.attributes, ".optimizer", value)
    if isinstance(receiver, Model) and isinstance(value, Variable):
        built(interp, receiver)
    if isinstance(receiver, Model) and name == "run_eagerly":
        interp.emit(events.EagerModeSet(site, interp.where(), receiver, interp.choose(value)))
    escaped(interp, value, "stored", site)
