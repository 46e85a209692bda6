"""Creating instances of program classes, and calling objects."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.symbolic_patterns import is_single
from gpulint.analysis.domain.traversal import leaves
from gpulint.analysis.domain.values.base import Arguments, Unknown, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.functions import UserClass
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.domain.values.object_facts import ObjectFact
from gpulint.analysis.domain.values.objects import Layer, Loss, Metric, Model
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.python import dataclass_fields
from gpulint.analysis.models.tensorflow import (
    device_runtime,
    dtype_policy,
    keras_loaders,
    objects,
    stateful_ops,
    tensors,
)
from gpulint.analysis.models.tensorflow.escape import escape
from gpulint.analysis.plan import events
from gpulint.knowledge import fact
from gpulint.knowledge.facts import Kind
from gpulint.places import Site


def instantiate(machine: Machine, cls: UserClass, arguments: Arguments, site: Site) -> Value:
    """Instance of a program class, or the dataset that its `__new__` returns instead."""
    if (dataset := _new_dataset(machine, cls, arguments, site)) is not None:
        return dataset
    libraries = cls.libraries()
    made = _of_kind(machine, cls, libraries, arguments, site)
    if (constructor := cls.find("__init__")) is not None:
        machine.call_method(made, constructor[0], arguments, site)
    else:
        keras_loaders.constructed(machine, made, arguments)
        dataclass_fields.fill(machine, cls, made, arguments, site)
        if not isinstance(made, Instance) or libraries or cls.is_open:
            for value in arguments.all():
                escape(machine, value, "passed", site)
    return made


def _new_dataset(machine: Machine, cls: UserClass, arguments: Arguments, site: Site) -> Dataset | None:
    """The dataset that `__new__` of a subclass of `tf.data.Dataset` returns. The class itself is abstract."""
    creator = cls.find("__new__")
    if creator is None or _DATASET not in cls.libraries():
        return None
    made = machine.choose(machine.call_method(cls, creator[0], arguments, site))
    return made if isinstance(made, Dataset) else None


_DATASET = "tensorflow.data.Dataset"


def _of_kind(machine: Machine, cls: UserClass, libraries: list[str], arguments: Arguments, site: Site) -> Object:
    for library in libraries:
        known = fact(library)
        if known is None:
            continue
        if known.kind is Kind.MODEL:
            return objects.make_model(machine, site, library, cls)
        if known.kind is Kind.LAYER:
            return Layer(site, machine.where(), library, cls, dtype_policy.policy_of(machine, arguments))
        if known.kind is Kind.OPTIMIZER:
            made = objects.make_optimizer(machine, site, library, cls)
            made.may_accumulate = arguments.open or any("accum" in name.lower() for name in arguments.keywords)
            return made
        if known.kind is Kind.METRIC:
            return objects.make_metric(machine, site, library, cls)
        if known.kind is Kind.LOSS:
            return Loss(site, machine.where(), library, None, cls)
    return Instance(site, machine.where(), libraries[0] if libraries else "", cls)


def call_object(machine: Machine, receiver: Object, arguments: Arguments, site: Site) -> Value:
    """Result of `receiver(…)`."""
    if isinstance(receiver, Model):
        device_runtime.initialise(machine, "yes", site)
        objects.model_used(machine, receiver, "call", arguments, site)
    if isinstance(receiver, (Model, Layer)) and known(arguments.get("training")) is not False:
        stateful_ops.note_layer(machine, receiver, site)
    if isinstance(receiver, Layer) and _is_network(receiver):
        machine.emit(events.NetworkCalled(site, machine.where(), receiver, arguments))
    if receiver.cls is not None:
        name = "call" if isinstance(receiver, (Model, Layer, Loss)) else "__call__"
        if found := receiver.cls.find(name):
            result = machine.choose(machine.call_method(receiver, found[0], arguments, site))
            if isinstance(receiver, Loss):
                return Tensor(site)
            if isinstance(receiver, Model):
                machine.state.write(receiver.facts, ObjectFact.OUTPUTS, result)
            return Tensor(site) if isinstance(receiver, (Model, Layer)) and isinstance(result, Unknown) else result
    if isinstance(receiver, Layer) and machine.context.traced is not None and ObjectFact.FUNCTION in receiver.facts:
        machine.call(
            machine.choose(receiver.facts[ObjectFact.FUNCTION]), Arguments(arguments.positional, open=True), site
        )
    if isinstance(receiver, (Model, Layer)):
        if any(isinstance(value, Tensor) for value in tensors.flattened(arguments.all())):
            device_runtime.initialise(machine, "yes", site)
        inputs = tensors.flattened(arguments.all())
        heads = dtype_policy.heads(machine, receiver) if isinstance(receiver, Model) else ()
        if len(heads) > 1:
            outputs = [tensors.derived(machine, site, inputs) for _ in heads]
            for output, layer in zip(outputs, heads, strict=True):
                if isinstance(output, Tensor):
                    output.layer = layer
            return Items("list", tuple(outputs), None, ("outputs", receiver.symbol, site))
        given = tensors.derived(machine, site, inputs)
        if isinstance(given, Tensor):
            if isinstance(receiver, Layer) and len(inputs) == 1:
                dtype_policy.hands_on(machine, receiver, inputs[0])
                is_batch = receiver.library in TAKE_LISTS and isinstance(arguments.get("inputs", 0), Items)
                given.single = is_batch or is_single(inputs[0])
            layers = [receiver] if isinstance(receiver, Layer) else dtype_policy.output_layers(machine, receiver)
            given.layer = layers[0] if len(layers) == 1 else None
        return given
    if isinstance(receiver, Loss):
        dtype_policy.in_loss(machine, arguments.all(), site)
        return tensors.call_loss(machine, receiver, arguments, site)
    if isinstance(receiver, Metric):
        for value in arguments.all():
            tensors.read_at(machine, value, "metric", site)
        objects.state_updated(machine, receiver, "__call__", site)
        return objects.result_of_metric(site)
    for value in arguments.all():
        escape(machine, value, "passed", site)
    return Unknown(("call", receiver.symbol, tuple(symbol_of(value) for value in arguments.all())))


def _is_network(layer: Layer) -> bool:
    """Whether a layer of the program consists of several layers of Keras, perhaps within its own layers."""
    return layer.cls is not None and len(list(islice(_of_keras(layer, MAX_NESTING), 2))) > 1


def _of_keras(layer: Layer, levels: int) -> Iterator[Layer]:
    """The layers of Keras in a layer and, down to so many levels, in the program's own layers in it."""
    for value in layer.attributes.values():
        for one in leaves(value) if isinstance(value, Value) else ():
            if isinstance(one, Layer) and one.cls is None and not one.hands_on:
                yield one
            elif isinstance(one, Layer) and one is not layer and levels:
                yield from _of_keras(one, levels - 1)


MAX_NESTING = 2
"""Maximum number of levels of a program's own layers within each other that are searched for layers of Keras."""


TAKE_LISTS = frozenset(
    f"tensorflow.keras.layers.{name}" for name in ("IntegerLookup", "StringLookup", "TextVectorization")
)
"""Layers for which a list is a batch of examples and not a list of inputs."""
