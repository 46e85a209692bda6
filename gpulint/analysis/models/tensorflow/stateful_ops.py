"""Stateful operations of functions that are traced, for those who map them over a dataset."""

from __future__ import annotations

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.path_conditions import Literal, Path
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.traversal import leaves_on
from gpulint.analysis.domain.values.base import NONE, Arguments, LibraryName, Value, symbol_of
from gpulint.analysis.domain.values.effects import Effect
from gpulint.analysis.domain.values.functions import function_of
from gpulint.analysis.domain.values.objects import Layer, Model
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow.generator_sources import give_names
from gpulint.knowledge.stateful import TABLE_LAYERS, effect_of, is_random_layer
from gpulint.places import Site
from gpulint.syntax import ir


def note_effect(machine: Machine, kind: str, name: str, site: Site) -> None:
    """A stateful operation is called."""
    machine.effects.append(Effect(kind, name, site, machine.path))


def of_options(path: Path) -> Path:
    """Those of the conditions in a function that is traced which decide what is traced. On those about tensors, both
    ways are."""
    return frozenset(literal for literal in path if _is_of_option(literal))


def _is_of_option(literal: Literal) -> bool:
    subject = literal.condition.subject
    if literal.condition.operator == "any":
        ways = (literal if literal.holds else literal.negation).condition.operand
        return isinstance(ways, frozenset) and all(of_options(way) for way in ways)
    return isinstance(subject, Symbol) and "tensor" not in subject.words


def note_method(machine: Machine, receiver: Object, name: str, site: Site) -> None:
    """A method of a random generator or a table is called."""
    if receiver.library.startswith("tensorflow.random."):
        note_effect(machine, "random", f"{receiver.library}.{name}", site)
    elif receiver.library.startswith("tensorflow.lookup."):
        note_effect(machine, "other", f"{receiver.library}.{name}", site)


def note_op(machine: Machine, name: str, arguments: Arguments, site: Site) -> None:
    """A library function is called that may be one. A Python function that gives names of files, with labels perhaps,
    is "names": what they name is read by others."""
    kind = effect_of(name)
    if kind == "python":
        types = leaves_on(machine.path, arguments.get("Tout", 2) or NONE)
        named = [one.name if isinstance(one, LibraryName) else "" for one in types]
        given = machine.choose(arguments.get("func", 0) or NONE)
        kind = "names" if give_names(named) else "array" if _is_of_arrays(given) else kind
    if kind is not None:
        note_effect(machine, kind, name, site)


def _is_of_arrays(value: Value) -> bool:
    """Whether a Python function takes arrays as they are: it has no loop, and calls nothing but methods and functions
    of modules."""
    function = function_of(value)
    return function is not None and not any(
        isinstance(node, (ir.Comprehension, ir.For, ir.While))
        or (isinstance(node, ir.Call) and not isinstance(node.function, ir.Attribute))
        for node in ir.below(function.definition.body)
    )


def note_layer(machine: Machine, layer: Object, site: Site) -> None:
    """A layer or model is called that may draw random numbers."""
    if (name := drawing(layer)) is not None:
        seed = layer.attributes.get(SEED)
        note_effect(machine, "random", f"{name}#{symbol_of(seed).digest}" if isinstance(seed, Value) else name, site)
    elif isinstance(layer, Layer) and layer.library in TABLE_LAYERS:
        note_effect(machine, "other", layer.library, site)


def drawing(layer: Object) -> str | None:
    """The name of a library layer by which a layer or model draws random numbers."""
    if isinstance(layer, Layer) and is_random_layer(layer.library):
        return layer.library
    found = layer.attributes.get(RANDOM) if isinstance(layer, Model) else None
    return found if isinstance(found, str) else None


SEED = ".seed"
"""Attribute of a layer: the seed that it was given. The name of its effects ends in `#` and what stands for it."""

RANDOM = ".random"
"""Attribute of a model: the library name of its layer that draws random numbers."""
