"""Calls of the functions and classes of libraries: by name, by kind, or as calls of which nothing is known."""

from __future__ import annotations

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.values.base import Arguments, Constant, LibraryName, Value
from gpulint.analysis.domain.values.datasets import OPS_OF_IMAGE
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.domain.values.object_facts import ObjectFact
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.engine import builtins
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.handlers import Handler
from gpulint.analysis.models.python import host_random, standard_library
from gpulint.analysis.models.tensorflow import (
    api_removals,
    calls_by_kind,
    calls_by_name,
    control_flow_ops,
    device_names,
    device_runtime,
    dtype_policy,
    escape,
    foreign_objects,
    generator_sources,
    host_sync,
    keras_loaders,
    optimizers,
    stateful_ops,
)
from gpulint.analysis.models.unmodelled_calls import call_unmodelled
from gpulint.analysis.plan import events
from gpulint.knowledge import fact
from gpulint.knowledge.watched import CLEARS_SESSION, OBJECTS, SWITCHES_GRAPH_MODE, WATCHED, is_heavy
from gpulint.places import Site


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
    if is_heavy(name):
        machine.operations += OPS_OF_IMAGE
    generator_sources.record_call(machine, name, site)
    host_random.function_called(machine, name, site)
    keras_loaders.record_call(machine, name, site)
    host_sync.await_person(machine, name, arguments, site)
    if name in CLEARS_SESSION and machine.plan.has_keras_3 and not machine.plan.imports_keras_2:
        dtype_policy.session_cleared(machine)
    if (switched := SWITCHES_GRAPH_MODE.get(name.rpartition(".")[2])) is not None and name.startswith("tensorflow."):
        machine.state.write(machine.library_state.policy, "is_graph", Constant(switched))
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
        return calls_by_kind.BY_KIND[known.kind](machine, name, known, arguments, site)
    owner, _, method = name.rpartition(".")
    if method in ("from_config", "from_pretrained") and (known := fact(owner)) is not None:
        return calls_by_kind.BY_KIND[known.kind](machine, owner, known, Arguments(open=True), site)
    if method == "from_pretrained" and owner.startswith("transformers.TF"):
        return foreign_objects.pretrained(machine, site)
    if method == "preprocess_input" and (known := fact("tensorflow.identity")) is not None:
        if any(isinstance(value, Tensor) for value in arguments.positional[:1]):
            return calls_by_kind.BY_KIND[known.kind](machine, name, known, arguments, site)
    return call_unmodelled(machine, name, arguments, site)


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


SPECIAL: dict[str, Handler] = {
    **standard_library.HANDLERS,
    **calls_by_name.HANDLERS,
    **device_names.HANDLERS,
    **optimizers.HANDLERS,
    **control_flow_ops.HANDLERS,
}
"""Functions and classes with a handler of their own, by canonical name."""
