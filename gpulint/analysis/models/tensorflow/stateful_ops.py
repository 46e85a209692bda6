"""Stateful operations of traced functions, for functions that are mapped over a dataset."""

from __future__ import annotations

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.path_conditions import Literal, Path
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.traversal import leaves_on
from gpulint.analysis.domain.values.base import NONE, Arguments, LibraryName, Value, symbol_of
from gpulint.analysis.domain.values.effects import Effect
from gpulint.analysis.domain.values.functions import function_of
from gpulint.analysis.domain.values.object_facts import ObjectFact
from gpulint.analysis.domain.values.objects import Layer, Model
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow.generator_sources import give_names
from gpulint.knowledge.stateful import TABLE_LAYERS, effect_of, is_random_layer
from gpulint.places import Site
from gpulint.syntax import ir, walk


def note_effect(machine: Machine, kind: str, name: str, site: Site) -> None:
    """Record a stateful operation."""
    machine.effects.append(Effect(kind, name, site, machine.path))


def of_options(path: Path) -> Path:
    """Conditions of a path that decide what is traced. Of a test of a tensor, both branches are traced."""
    return frozenset(literal for literal in path if _is_of_option(literal))


def _is_of_option(literal: Literal) -> bool:
    subject = literal.condition.subject
    if literal.condition.operator == "any":
        ways = (literal if literal.holds else literal.negation).condition.operand
        return isinstance(ways, frozenset) and all(of_options(way) for way in ways)
    return isinstance(subject, Symbol) and "tensor" not in subject.words


def note_method(machine: Machine, receiver: Object, name: str, site: Site) -> None:
    """Record a method call of a random generator or a lookup table."""
    if receiver.library.startswith("tensorflow.random."):
        note_effect(machine, "random", f"{receiver.library}.{name}", site)
    elif receiver.library.startswith("tensorflow.lookup."):
        note_effect(machine, "other", f"{receiver.library}.{name}", site)


def note_op(machine: Machine, name: str, arguments: Arguments, site: Site) -> None:
    """Record a library call if it is a stateful operation.

    The kind of a Python function that returns file names, perhaps with labels, is "names": other operations read the
    files.
    """
    kind = effect_of(name)
    if kind == "python":
        types = leaves_on(machine.path, arguments.get("Tout", 2) or NONE)
        named = [one.name if isinstance(one, LibraryName) else "" for one in types]
        given = machine.choose(arguments.get("func", 0) or NONE)
        kind = "names" if give_names(named) else "array" if _is_of_arrays(given) else kind
    if kind is not None:
        note_effect(machine, kind, name, site)


def _is_of_arrays(value: Value) -> bool:
    """Whether a Python function only processes whole arrays.

    Such a function has no loop, and calls only methods and functions of modules.
    """
    function = function_of(value)
    return function is not None and not any(
        isinstance(node, (ir.Comprehension, ir.For, ir.While))
        or (isinstance(node, ir.Call) and not isinstance(node.function, ir.Attribute))
        for node in walk.below(function.definition.body)
    )


def note_layer(machine: Machine, layer: Object, site: Site) -> None:
    """Record a call of a layer or model that may draw random numbers or use a table."""
    if (name := drawing(layer)) is not None:
        seed = layer.facts.get(ObjectFact.SEED)
        note_effect(machine, "random", f"{name}#{symbol_of(seed).digest}" if isinstance(seed, Value) else name, site)
    elif isinstance(layer, Layer) and layer.library in TABLE_LAYERS:
        note_effect(machine, "other", layer.library, site)


def drawing(layer: Object) -> str | None:
    """Name of the library layer with which a layer or model draws random numbers, None if there is none."""
    if isinstance(layer, Layer) and is_random_layer(layer.library):
        return layer.library
    found = layer.facts.get(ObjectFact.RANDOM_LAYER) if isinstance(layer, Model) else None
    return found if isinstance(found, str) else None
