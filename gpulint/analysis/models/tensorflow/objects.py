"""Library objects: creating them, their variables and their attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from gpulint.analysis.domain.context import Object, Strategy, Where
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, LibraryName, Unknown, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.functions import Bound, Function, UserClass
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.domain.values.object_facts import ObjectFact
from gpulint.analysis.domain.values.objects import Layer, Loss, Metric, Model, Optimizer, Tape, Variable
from gpulint.analysis.domain.values.tensors import PerReplica, Reduced, Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.python import threads
from gpulint.analysis.models.tensorflow import api_removals, device_runtime
from gpulint.analysis.models.tensorflow.blame import blame
from gpulint.analysis.plan import events
from gpulint.knowledge import FIRST_WITH_VARIABLES, LEGACY_OPTIMIZERS, fact
from gpulint.knowledge.watched import OBJECTS, OPTIONS
from gpulint.places import Site
from gpulint.syntax import ir, walk

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


def make_model(
    machine: Machine,
    site: Site,
    library: str,
    cls: UserClass | None = None,
    parts: tuple[Model, ...] = (),
    arguments: Arguments | None = None,
) -> Model:
    event = partial(events.ModelBuilt, parts=parts, arguments=arguments)
    return _announced(machine, Model(site, machine.where(), library, cls), event)


def variables_built(machine: Machine, model: Model, is_known: bool = True) -> None:
    """Record that the variables of a model are created, certainly if `is_known`, unless they already were."""
    if ObjectFact.BUILT not in model.facts:
        outside = Constant(machine.context.is_outside) if is_known else Unknown(("built", model.symbol))
        machine.state.write(model.facts, ObjectFact.BUILT, outside)


def optimizer_built(machine: Machine, optimizer: Optimizer) -> None:
    """Record that an optimizer has, or may have, variables for those of a model."""
    if ObjectFact.BUILT not in optimizer.facts:
        machine.state.write(optimizer.facts, ObjectFact.BUILT, Constant(True))


def is_unbuilt(optimizer: Optimizer) -> bool:
    """Whether an optimizer of the program has no variables for those of a model yet, and needs some."""
    is_known = optimizer.cls is None and optimizer.is_private is False and not optimizer.where.context.maybe_scoped
    is_of_keras = optimizer.library.startswith(_OPTIMIZERS) and not optimizer.library.startswith(LEGACY_OPTIMIZERS)
    return is_known and is_of_keras and optimizer.has_slots and ObjectFact.BUILT not in optimizer.facts


_OPTIMIZERS = "tensorflow.keras.optimizers."


def has_shape(value: Value) -> bool:
    """Whether a part of a model has a known input shape or variables, so that the model's are created at once."""
    if isinstance(value, Model):
        return known(value.facts.get(ObjectFact.BUILT)) is True
    return isinstance(value, Tensor) or (isinstance(value, Layer) and ObjectFact.SHAPED in value.facts)


def is_own_call(machine: Machine, model: Model, method: Value) -> bool:
    """Whether a method of a model computes outputs, as `model(x)` does: its own `call`, which within `call` is that of
    a base class, or another one that code outside the model calls."""
    if not isinstance(method, Function):
        return False
    if method.name == "call":
        function = machine.frame.definition
        return not (isinstance(function, ir.FunctionDef) and function.name == "call")
    return machine.frame.receiver is not model and _calls_layers(method, model)


def _calls_layers(method: Function, model: Model) -> bool:
    """Whether a method calls layers that its model keeps as attributes, outside tapes."""
    parameters = method.definition.parameters
    if not parameters or not any(isinstance(one, Layer) for one in model.attributes.values()):
        return False
    nodes = list(walk.below((method.definition.body,)))
    layers = (
        model.attributes.get(node.function.name)
        for node in nodes
        if isinstance(node, ir.Call)
        and isinstance(node.function, ir.Attribute)
        and isinstance(node.function.value, ir.Name)
        and node.function.value.id == parameters[0].name
    )
    return any(isinstance(one, Layer) for one in layers) and not any(isinstance(node, ir.With) for node in nodes)


def class_of(receiver: Object) -> LibraryName | None:
    """Class of a model of Keras. Functions create most others than `Sequential`."""
    if not isinstance(receiver, Model):
        return None
    return LibraryName(_SEQUENTIAL if receiver.library == _SEQUENTIAL else "tensorflow.keras.Model")


_SEQUENTIAL = "tensorflow.keras.Sequential"


def model_used(machine: Machine, model: Model, how: str, arguments: Arguments, site: Site) -> None:
    """Record a use of a model (`events.ModelCalled`). Its first call creates its variables."""
    before = model.facts.get(ObjectFact.BUILT)
    has = "no" if before is None else "outside" if known(before) is True else ""
    machine.emit(events.ModelCalled(site, machine.where(), model, how, arguments, has))
    if how != "variables":
        variables_built(machine, model)


def make_optimizer(
    machine: Machine, site: Site, library: str, cls: UserClass | None = None, is_refused: bool = False
) -> Optimizer:
    """Create an optimizer. If it `is_refused`, it raises before it creates a variable."""
    has_variables = machine.plan.release_of_target >= FIRST_WITH_VARIABLES and not library.startswith(LEGACY_OPTIMIZERS)
    if has_variables and not is_refused:
        device_runtime.initialise(machine, "yes", site)
    return _announced(machine, Optimizer(site, machine.where(), library, cls), events.OptimizerBuilt)


def make_metric(machine: Machine, site: Site, library: str, cls: UserClass | None = None) -> Metric:
    known = fact(library)
    if cls is not None or known is None:
        device_runtime.initialise(machine, "yes", site)
    else:
        device_runtime.may_initialise(machine, known, site)
    return _announced(machine, Metric(site, machine.where(), library, cls), events.MetricBuilt)


def result_of_metric(site: Site) -> Tensor:
    """Result of a call of a metric, and of its `result()`."""
    return Tensor(site, reduced=Reduced("mean", site, is_number=True))


def make_variable(machine: Machine, name: str, dtype: str | None, arguments: Arguments, site: Site) -> Variable:
    """Variable that the function `name` creates."""
    device_runtime.initialise(machine, "yes", site)
    made = Variable(site, machine.where(), dtype, library=name)
    made.blame, made.seen = blame(machine, site)
    machine.emit(events.VariableBuilt(site, machine.where(), made, arguments))
    return made


M = TypeVar("M", bound=Object)


def _announced(machine: Machine, made: M, event: Callable[[Site, Where, M], events.Event]) -> M:
    """Record the blame of a new object and emit the event of its creation."""
    made.blame, made.seen = blame(machine, made.site)
    machine.emit(event(made.site, machine.where(), made))
    return made


def state_updated(
    machine: Machine, target: Variable | Metric, method: str, site: Site, given: Iterable[Value] = ()
) -> None:
    """Record that a variable or metric is updated; `given` are the alternatives of the value assigned to a variable."""
    given = tuple(given)
    gradient = next((one for one in given if isinstance(one, Tensor) and one.gradient is not None), None)
    by_number = bool(given) and all(isinstance(known(one), (int, float)) for one in given)
    by_python = not machine.context.may_be_traced or machine.branches == machine.frame.branches
    machine.emit(events.StateUpdated(site, machine.where(), target, method, gradient, by_number and by_python))


def library_attribute(machine: Machine, receiver: Object, name: str, node: ir.Node) -> Value:
    """Value of an attribute that an object has from its library class."""
    symbol: tuple[Any, ...] = ("attribute", receiver.symbol, name)
    if name in ("input", "output") and isinstance(whole := receiver.facts.get(ObjectFact.MODEL), Model):
        symbol = ("attribute", ("layer_of", whole.symbol, receiver.serial), name)
    if isinstance(receiver, Strategy) and name != "scope":  # the call of `scope` emits it
        machine.emit(events.StrategyUsed(machine.site(node), machine.where(), receiver, "attribute"))
    if isinstance(receiver, Strategy) and name == "num_replicas_in_sync":
        return Unknown(("replicas", receiver.symbol))
    for kind, names in _PROPERTIES.items():
        if isinstance(receiver, kind):
            api_removals.check_method(machine, receiver, name, machine.site(node))
            if name not in names:
                return Bound(receiver, name)
            api_removals.property_read(machine, receiver, name, Unknown(symbol).symbol)
            if isinstance(receiver, Model) and name == "optimizer" and ObjectFact.COMPILED in receiver.facts:
                return _optimizer_of(machine, receiver)
            if isinstance(receiver, Model) and name == "metrics":
                metric = Metric(receiver.site, receiver.where, "tensorflow.keras.Metric")
                metric.is_private = receiver.is_private
                return Items("list", None, metric, symbol)
            if isinstance(receiver, Optimizer) and name == "iterations":
                return Variable(receiver.site, receiver.where, "int64", counts_steps=True)
            if (isinstance(receiver, Model) and "variables" in name) or name == "trainable_weights":
                if isinstance(receiver, Model):
                    model_used(machine, receiver, "variables", Arguments(), machine.site(node))
            return Unknown(symbol)
    if isinstance(receiver, (Tape, Loss)):
        return Bound(receiver, name)
    if isinstance(receiver, Instance) and threads.starts(receiver, name):
        return Bound(receiver, name)
    if isinstance(receiver, Instance) and receiver.library in OBJECTS and receiver.cls is None:
        if receiver.library not in OPTIONS:
            return Bound(receiver, name)
        part = Instance(receiver.site, receiver.where, "tensorflow.data.Options")
        machine.state.write(receiver.attributes, name, part)
        return part
    return Unknown(symbol)


def _optimizer_of(machine: Machine, model: Model) -> Value:
    """Optimizer that a model was compiled with: the object, or the one that Keras creates for a name."""
    given = machine.choose(model.facts.get(ObjectFact.OPTIMIZER, NONE))
    if isinstance(given, Constant):
        given = Optimizer(model.site, model.where, "tensorflow.keras.optimizers.Optimizer")
        given.is_private = model.is_private
        machine.state.write(model.facts, ObjectFact.OPTIMIZER, given)
    return given


def tensor_attribute(machine: Machine, receiver: Tensor | PerReplica, name: str, node: ir.Node) -> Value:
    if isinstance(receiver, Tensor) and receiver.symbolic:
        api_removals.symbolic_tensor(machine, name, machine.site(node))
    if name == "shape" and isinstance(receiver, Tensor):
        return Tensor(machine.site(node), shape_of=True, static=True)
    if name == "values" and isinstance(receiver, PerReplica):
        return Items("tuple", None, receiver.value)
    if name in ("values", "indices") and isinstance(receiver, Tensor) and receiver.gradient is not None:
        return Tensor(machine.site(node), receiver.device, receiver.dtype, gradient=receiver.gradient)
    if name in _OF_OUTPUTS and isinstance(receiver, Tensor):
        return Tensor(machine.site(node), receiver.device)
    if name in ("dtype", "device", "name", "backing_device"):
        return Unknown(("attribute", symbol_of(receiver), name))
    return Bound(receiver, name)


_OF_OUTPUTS = frozenset({"last_hidden_state", "logits", "loss", "pooler_output"})
"""Tensors in the output of a model of `transformers`, which a call returns."""
