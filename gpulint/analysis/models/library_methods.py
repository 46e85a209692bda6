"""Methods of library objects and built-in values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from gpulint.analysis.domain.context import Strategy
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, PartialString, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.functions import Namespace, Super, Traced, UserClass
from gpulint.analysis.domain.values.instances import AttributeDict, Instance
from gpulint.analysis.domain.values.managers import ExitStackManager, GeneratorManager, NullManager
from gpulint.analysis.domain.values.objects import (
    DeviceManager,
    Layer,
    Loss,
    Metric,
    Model,
    Optimizer,
    ScopeManager,
    Tape,
    Variable,
)
from gpulint.analysis.domain.values.tensors import PerReplica, Tensor
from gpulint.analysis.engine import builtins, context_managers
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.python import loggers, threads
from gpulint.analysis.models.tensorflow import (
    api_removals,
    distribution,
    escape,
    host_sync,
    keras_loaders,
    keras_training,
    objects,
    stateful_ops,
    tensors,
    tf_data,
)
from gpulint.analysis.plan import events
from gpulint.knowledge import fact
from gpulint.knowledge.facts import Kind
from gpulint.places import Site

_UPDATES = frozenset({*events.MOVES, "assign", "scatter_update"})


Handler: TypeAlias = Callable[[Machine, Any, str, Arguments, Site], Value]
"""Evaluates a method call of a receiver of one type: method name, arguments, call site."""


def call_library_method(machine: Machine, receiver: Value, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of `receiver.name(…)` where no class of the program defines the method."""
    if isinstance(receiver, Super):
        receiver = receiver.receiver
        if name == "__init__":
            keras_loaders.constructed(machine, receiver, arguments)
            given = tensors.flattened(map(machine.choose, arguments.all()))
            if isinstance(receiver, Model) and (arguments.open or any(map(objects.has_shape, given))):
                objects.variables_built(machine, receiver, is_known=not arguments.open)
            return NONE
    if name == "add_weight" and isinstance(receiver, (Layer, Model)):
        api_removals.weight_added(machine, receiver, arguments, site)
    loggers.method_called(machine, symbol_of(receiver), name, arguments, site)
    return METHODS.get(type(receiver), _other)(machine, receiver, name, arguments, site)


def _other(machine: Machine, receiver: Value, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of a method that is not modelled."""
    for value in arguments.all():
        escape.escape(machine, value, "passed", site)
    return Unknown(
        (
            "call",
            ("attribute", symbol_of(receiver), name),
            tuple(symbol_of(value) for value in arguments.all()),
        )
    )


def _tensor(machine: Machine, receiver: Tensor | PerReplica, name: str, arguments: Arguments, site: Site) -> Value:
    return tensors.tensor_method(machine, receiver, name, site)


def _instance(machine: Machine, receiver: Instance, name: str, arguments: Arguments, site: Site) -> Value:
    stateful_ops.note_method(machine, receiver, name, site)
    if threads.starts(receiver, name):
        threads.run_started(machine, receiver, site)
    if receiver.library:
        machine.emit(events.LibraryCalled(site, machine.where(), f"{receiver.library}.{name}", arguments, receiver))
    return Unknown(("call", ("attribute", receiver.symbol, name), site))


def _layer(machine: Machine, receiver: Layer, name: str, arguments: Arguments, site: Site) -> Value:
    if name in _CALLS:
        return machine.call(receiver, arguments, site)
    if name in keras_training.WEIGHTS:
        keras_training.weights_used(machine, receiver, name, arguments, site)
    return _other(machine, receiver, name, arguments, site)


def _loss(machine: Machine, receiver: Loss, name: str, arguments: Arguments, site: Site) -> Value:
    if name in _CALLS:
        return machine.call(receiver, arguments, site)
    return _other(machine, receiver, name, arguments, site)


_CALLS = frozenset({"__call__", "call"})


def _traced(machine: Machine, receiver: Traced, name: str, arguments: Arguments, site: Site) -> Value:
    return receiver if name == "get_concrete_function" else _other(machine, receiver, name, arguments, site)


def _variable(machine: Machine, receiver: Variable, name: str, arguments: Arguments, site: Site) -> Value:
    if name in _UPDATES:
        for value in arguments.all():
            tensors.read_at(machine, value, "assign", site)
        given = alternatives(arguments.positional[0], machine.path) if arguments.positional else []
        objects.state_updated(machine, receiver, name, site, (value for _, value in given))
        return receiver
    if name == "numpy":
        tensors.read_at(machine, receiver, name, site)
        return host_sync.host_value(site, name)
    if name in ("read_value", "value", "sparse_read"):
        content = tensors.derived(machine, site, ())
        if isinstance(content, Tensor):
            content.state = receiver
        return content
    return Unknown(("call", ("attribute", receiver.symbol, name), site))


def _metric(machine: Machine, receiver: Metric, name: str, arguments: Arguments, site: Site) -> Value:
    if name in ("update_state", "update_on_batch"):
        for value in arguments.all():
            tensors.read_at(machine, value, "metric", site)
        objects.state_updated(machine, receiver, name, site)
        return NONE
    if name == "result":
        return objects.result_of_metric(site)
    if name in ("add_weight", "add_variable"):
        dtype = tensors.named_dtype(arguments.get("dtype"))
        return objects.make_variable(machine, "tensorflow.keras.Variable", dtype, arguments, site)
    return Unknown(("call", ("attribute", receiver.symbol, name), site))


def _of_class(machine: Machine, receiver: UserClass, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of a class method inherited from a library class (`MyModel.from_config(…)`)."""
    kinds = {known.kind for library in receiver.libraries() if (known := fact(library)) is not None}
    if Kind.MODEL in kinds and name in ("from_config", "from_pretrained", "load"):
        return objects.make_model(machine, site, receiver.libraries()[0], receiver)
    return Unknown(("call", ("class", receiver.module.path, receiver.name), name, site))


METHODS: dict[type[Value], Handler] = {
    AttributeDict: builtins.builtin_method,
    Constant: builtins.builtin_method,
    Dataset: tf_data.dataset_method,
    DeviceManager: context_managers.manager_method,
    ExitStackManager: context_managers.manager_method,
    GeneratorManager: context_managers.manager_method,
    Instance: _instance,
    Items: builtins.builtin_method,
    Layer: _layer,
    Loss: _loss,
    Mapping: builtins.builtin_method,
    Metric: _metric,
    Model: keras_training.model_method,
    Namespace: builtins.builtin_method,
    NullManager: context_managers.manager_method,
    Optimizer: keras_training.optimizer_method,
    PartialString: builtins.builtin_method,
    PerReplica: _tensor,
    ScopeManager: context_managers.manager_method,
    Strategy: distribution.strategy_method,
    Tape: keras_training.tape_method,
    Tensor: _tensor,
    Traced: _traced,
    UserClass: _of_class,
    Variable: _variable,
}
"""Type of the receiver → handler of its methods. Types that are missing have no modelled methods."""
