"""Functions and classes of TensorFlow and Keras that the knowledge tables describe by kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpulint.analysis.domain.context import Strategy
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.traversal import leaves
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, LibraryName, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.devices import DeviceList
from gpulint.analysis.domain.values.functions import Function, Traced
from gpulint.analysis.domain.values.object_facts import ObjectFact
from gpulint.analysis.domain.values.objects import Layer, Loss, Model
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.engine.sequences import MAX_ITEMS
from gpulint.analysis.models.tensorflow import (
    control_flow_ops,
    device_names,
    device_runtime,
    dtype_policy,
    foreign_objects,
    model_parts,
    objects,
    optimizers,
    tensors,
    tf_data,
)
from gpulint.analysis.models.unmodelled_calls import call_unmodelled
from gpulint.analysis.plan import events
from gpulint.knowledge.facts import Fact, Kind
from gpulint.places import Site

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
        device_names.use_device_name(machine, value, name, site)
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
    model = objects.make_model(machine, site, name, parts=tuple(one for one in inputs if isinstance(one, Model)))
    if has_shape or arguments.open:
        objects.variables_built(machine, model, is_known=has_shape)
    dtype_policy.remember_parts(machine, model, name, arguments)
    wholes = {model_parts.whole_of(symbol_of(one)) for one in leaves(arguments.get("inputs", 0) or NONE)}
    model.part_of = wholes.pop() if len(wholes) == 1 else None
    if model.part_of is not None:
        machine.library_state.models.setdefault(model.part_of, foreign_objects.model(machine, site))
    return model


def _model_factory(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    device_runtime.initialise(machine, "yes", site)
    if name.endswith(".clone_model") and isinstance(original := arguments.of("model", known.params), Model):
        machine.emit(events.WeightsUsed(site, machine.where(), original, "clone_model", arguments))
    model = objects.make_model(machine, site, name, arguments=arguments)
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
    return call_unmodelled(machine, name, arguments, site)


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
    Kind.OPTIMIZER: optimizers.of_class,
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
