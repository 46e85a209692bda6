"""Keras dtype policies, output layers of models, and whether a model draws random numbers."""

from __future__ import annotations

from collections.abc import Iterable

from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.traversal import leaves_on
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, LibraryName, Unknown, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.object_facts import ObjectFact
from gpulint.analysis.domain.values.objects import Layer, Model
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import stateful_ops
from gpulint.analysis.plan import events
from gpulint.places import Site


def policy_set(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `keras.mixed_precision.set_global_policy(policy)`."""
    given = arguments.get("policy", 0) or arguments.get("dtype_policy", 0) or Unknown(("policy", site))
    machine.state.write(machine.library_state.policy, "global", machine.choose(given))
    return NONE


def policy_set_in_keras_2(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `keras.mixed_precision.experimental.set_policy(policy)`, which Keras 3 does not have."""
    machine.state.write(machine.library_state.policy, "is_kept", Constant(True))
    return policy_set(machine, arguments, site)


def session_cleared(machine: Machine) -> None:
    """Treat the global policy as reset, which Keras 3 does (run on 3.15), and Keras 2 does not."""
    policy = machine.library_state.policy
    if known(machine.choose(policy["is_kept"])) is not True:
        machine.state.write(policy, "global", Constant("float32"))


def policy_made(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `keras.mixed_precision.Policy(name)`: its name."""
    return machine.choose(arguments.get("name", 0) or Unknown(("policy", site)))


def policy_of(machine: Machine, arguments: Arguments) -> Value:
    """Policy of a layer: its own `dtype`, else the global policy."""
    given = arguments.get("dtype")
    if given is None or (isinstance(given, Constant) and given.value is None):
        return Unknown(("policy",)) if arguments.open else machine.choose(machine.library_state.policy["global"])
    if isinstance(given, LibraryName):
        return Constant(given.name.rpartition(".")[2])
    return given


def fitted(machine: Machine, model: Model, site: Site) -> None:
    """Record that a model is fitted: its outputs go into the loss it was compiled with."""
    if machine.choose(model.facts.get(ObjectFact.LOSS, NONE)) is NONE:
        return
    for layer in output_layers(machine, model):
        _trained(machine, layer, site)


def in_loss(machine: Machine, values: Iterable[Value], site: Site) -> None:
    """Record that tensors go into a loss."""
    for value in values:
        for _, option in alternatives(value, machine.path):
            if isinstance(option, Tensor) and option.layer is not None:
                _trained(machine, option.layer, site)


def _trained(machine: Machine, layer: Layer, site: Site) -> None:
    through: list[Layer] = []
    while layer not in through and isinstance(
        before := machine.choose(layer.facts.get(ObjectFact.SOURCE_LAYER, NONE)), Layer
    ):
        through.append(layer)
        layer = before
    machine.emit(events.OutputTrained(site, machine.where(), layer, tuple(through)))


def output_layers(machine: Machine, model: Model) -> list[Layer]:
    """Output layers of a model, where they are known."""
    return list(dict.fromkeys(_layers(machine, model, 0)))


def heads(machine: Machine, model: Model) -> tuple[Layer | None, ...]:
    """Output layer for each output of a model with a list of outputs, None where a layer is unknown."""
    outputs = model.facts.get(ObjectFact.OUTPUTS)
    made = machine.choose(outputs) if isinstance(outputs, Value) else None
    if not isinstance(made, Items) or made.items is None:
        return ()
    tensors = [machine.choose(item) for item in made.items]
    return tuple(one.layer if isinstance(one, Tensor) else None for one in tensors)


def hands_on(machine: Machine, layer: Layer, given: Value) -> None:
    """Record the layer before a layer that only reshapes, and so passes on what the layer before computed."""
    before = given.layer if isinstance(given, Tensor) else given
    if layer.hands_on and isinstance(before, Layer) and symbol_of(before.policy) == symbol_of(layer.policy):
        machine.state.write(layer.facts, ObjectFact.SOURCE_LAYER, before)


def _layers(machine: Machine, model: Model, depth: int) -> list[Layer]:
    last = model.facts.get(ObjectFact.LAST_LAYER)
    outputs = model.facts.get(ObjectFact.OUTPUTS)
    layers: list[Layer] = []
    for _, value in alternatives(last, machine.path) if isinstance(last, Value) else ():
        if isinstance(value, Layer):
            layers.append(value)
        elif isinstance(value, Model) and depth < MAX_NESTED:
            layers += _layers(machine, value, depth + 1)
    for output in _parts(machine, outputs) if isinstance(outputs, Value) else ():
        tensors = [one for one in leaves_on(machine.path, output) if isinstance(one, Tensor)]
        ways = [tensor.layer for tensor in tensors if tensor.layer is not None]
        careful = [layer for layer in ways if isinstance(layer.policy, Constant) and layer.policy.value == "float32"]
        layers += careful or ways  # a model is no longer a classifier without its head in float32
    return layers


def _parts(machine: Machine, outputs: Value) -> tuple[Value, ...]:
    """Outputs of a model, one by one."""
    made = machine.choose(outputs)
    if isinstance(made, Mapping):
        return tuple(made.entries.values())
    return made.items if isinstance(made, Items) and made.items is not None else (made,)


MAX_NESTED = 3
"""Maximum nesting of models whose outputs are searched."""


def remember_parts(machine: Machine, model: Model, name: str, arguments: Arguments) -> None:
    """Record the layers or outputs that a new model is created with."""
    if name.endswith(".Sequential"):
        given = machine.choose(arguments.get("layers", 0) or NONE)
        for layer in given.items or () if isinstance(given, Items) else ():
            added(machine, model, layer)
        return
    outputs = arguments.get("outputs", 1)
    if outputs is not None:
        machine.state.write(model.facts, ObjectFact.OUTPUTS, outputs)


def added(machine: Machine, model: Model, layer: Value) -> None:
    """Record `model.add(layer)`."""
    if isinstance(layer, Layer):
        hands_on(machine, layer, machine.choose(model.facts.get(ObjectFact.LAST_LAYER, NONE)))
    machine.state.write(model.facts, ObjectFact.LAST_LAYER, layer)
    for _, option in alternatives(layer, machine.path):
        if isinstance(option, (Layer, Model)) and (drawing := stateful_ops.drawing(option)) is not None:
            machine.state.write(model.facts, ObjectFact.RANDOM_LAYER, drawing)
