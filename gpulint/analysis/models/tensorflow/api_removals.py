"""Uses of public names that were removed from TensorFlow."""

from __future__ import annotations

from gpulint.analysis.domain.context import Object, Strategy, callers
from gpulint.analysis.domain.identifiers import words
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.values.base import Arguments, LibraryName, PartialString, Value, known, symbol_of
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.functions import Function, UserClass
from gpulint.analysis.domain.values.objects import Layer, Model, Optimizer
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.plan.events import RemovedNameUsed
from gpulint.knowledge import LEGACY_OPTIMIZERS
from gpulint.knowledge.names import FIRST, PRIVATE, public_name
from gpulint.knowledge.removed import (
    PROPERTIES,
    REFUSED_BY_OPTIMIZERS,
    UNLISTED,
    has_methods,
    is_importable,
    is_of_keras_2,
    method_since,
    parameters_since,
    raises_since,
    replacement,
    since,
)
from gpulint.places import Site
from gpulint.sources.releases import release

_CLASSES: tuple[tuple[type, str], ...] = (
    (Model, "tensorflow.keras.Model"),
    (Layer, "tensorflow.keras.Layer"),
    (Optimizer, "tensorflow.keras.Optimizer"),
    (Strategy, "tensorflow.distribute.Strategy"),
    (Dataset, "tensorflow.data.Dataset"),
)
"""Type of value → library class whose methods it has if its own class is not in the table."""


def is_gone(machine: Machine, name: str, package: str) -> bool:
    """Whether a dotted name was removed in the targeted TensorFlow or earlier."""
    gone = since(name, package)
    return gone is not None and release(gone) <= machine.plan.release_of_target


def check_name(machine: Machine, name: str, package: str, site: Site) -> bool:
    """Record that a dotted name of an imported package is read. Returns whether it was removed in any release."""
    gone = since(name, package)
    if gone is None:
        return False
    if since(name.rpartition(".")[0], package) is None:
        machine.emit(RemovedNameUsed(site, machine.where(), name, gone, replacement(name)))
    return True


def check_call(machine: Machine, name: str, package: str, site: Site) -> None:
    """Record that a name is called. Some that still exist only raise."""
    gone = raises_since(name, package)
    if gone is not None:
        machine.emit(RemovedNameUsed(site, machine.where(), name, gone, None))


def check_import(machine: Machine, dotted: str, site: Site) -> None:
    """Record that a module or a name in one is imported. The outermost removed part of the name is reported."""
    public = public_name(dotted)
    if public is None:
        return
    parts = public.split(".")
    for length in range(2, len(parts) + 1):
        if is_importable(".".join(parts[:length])):
            return
        if check_name(machine, ".".join(parts[:length]), dotted.partition(".")[0], site):
            return


def _may_be_private(machine: Machine, receiver: Value | None, owner: str) -> bool:
    """Whether an object may be of TensorFlow's private copy of Keras 2, which keeps what was removed elsewhere.

    For an object passed to the program, it may be if the program mentions that copy of its class.
    """
    if isinstance(receiver, Object) and receiver.is_private is not None:
        return receiver.is_private
    part = owner.partition(".keras.")[2].partition(".")[0].rstrip("s")
    package = f"{PRIVATE}.keras"
    return bool(part) and any(
        machine.plan.mentions(text) for text in (f"{package}.{part}", f"{package} import", f"import {package}")
    )


def check_method(machine: Machine, receiver: Value, name: str, site: Site) -> None:
    """Record that a method of a library object is read."""
    classes = [receiver.library] if isinstance(receiver, Object) else []
    if isinstance(receiver, Optimizer) and receiver.scales:
        classes.insert(0, "tensorflow.keras.optimizers.LossScaleOptimizer")
    if not (classes and has_methods(classes[-1])) or isinstance(receiver, (Strategy, Optimizer)):
        classes += [library for kind, library in _CLASSES if isinstance(receiver, kind)]
    if isinstance(receiver, Optimizer) and receiver.library.startswith(LEGACY_OPTIMIZERS):
        classes = classes[:1]  # their methods are unchanged
    if _is_of_another_class(machine, receiver):
        return
    for library in classes:
        if (gone := method_since(library, name)) is not None:
            if isinstance(receiver, Strategy) and receiver.kind == "default" and name not in UNMISTAKABLE:
                return
            if isinstance(receiver, Object) and receiver.cls is not None and _keeps(machine, receiver.cls, name):
                return
            if _may_be_private(machine, receiver, library):
                return
            exact = isinstance(receiver, Dataset) or (isinstance(receiver, Object) and receiver.cls is None)
            machine.emit(RemovedNameUsed(site, machine.where(), f"{library}.{name}", gone, None, True, exact))
            return


def _is_of_another_class(machine: Machine, receiver: Value) -> bool:
    """Whether an object was tested for a class other than Keras's present ones, which may have methods of its own."""
    own = symbol_of(receiver)
    return any(
        literal.holds
        and literal.condition.operator == "isinstance"
        and literal.condition.subject == own
        and not _is_present(literal.condition.operand)
        for literal in machine.path
    )


def _is_present(cls: object) -> bool:
    name = str(cls.parts[1]) if isinstance(cls, Symbol) and cls.parts[0] == "external" else ""
    return name.startswith("tensorflow.") and not name.startswith(LEGACY_OPTIMIZERS)


def property_read(machine: Machine, receiver: Object, name: str, given: Symbol) -> None:
    """Record that a property of a library object is read; `given` is the symbol of its value."""
    if name in _ELEMENTS or name in _PARTS or any(name in names for names in PROPERTIES.values()):
        machine.library_state.properties[given] = receiver


def property_called(machine: Machine, called: Symbol, site: Site) -> None:
    """Record a call of an unknown value that is the value of a property and was once a method."""
    receiver = machine.library_state.properties.get(called)
    if receiver is None or receiver.library.startswith(LEGACY_OPTIMIZERS):
        return
    name = called.parts[-1]
    classes = [library for kind, library in _CLASSES if isinstance(receiver, kind)]
    if _may_be_private(machine, receiver, classes[0] if classes else ""):
        return
    if (gone := next((PROPERTIES[one][name] for one in classes if name in PROPERTIES.get(one, ())), None)) is not None:
        use = f"{receiver.library or classes[0]}.{name}()"
        machine.emit(RemovedNameUsed(site, machine.where(), use, gone, None, True, receiver.cls is None))


def _keeps(machine: Machine, cls: UserClass, name: str) -> bool:
    """Whether a method of a program class sets an attribute of this name."""
    functions = [value for one in cls.classes for value in one.namespace.values() if isinstance(value, Function)]
    return any(f".{name}" in machine.project.uses_of(one.definition).filled for one in functions)


def arguments(machine: Machine, receiver: Object, function: str, given: Arguments, site: Site) -> None:
    """Record keyword arguments that a called method of a library object no longer accepts."""
    if (refused := _refused(function, given)) and not _may_be_private(machine, receiver, function):
        for name, gone in refused:
            place = given.written.get(name, site)
            machine.emit(RemovedNameUsed(place, machine.where(), f"{function}({name})", gone, None, True))


def weight_added(machine: Machine, receiver: Object, given: Arguments, site: Site) -> None:
    """Record that `add_weight` receives the name as its first argument, which is the shape in Keras 3 (it raises
    ValueError, run on 3.15)."""
    first = machine.choose(given.positional[0]) if given.positional else None
    is_name = isinstance(first, PartialString) or isinstance(known(first), str)
    if is_name and not _may_be_private(machine, receiver, _ADDS_WEIGHT):
        machine.emit(RemovedNameUsed(given.sites.get(0, site), machine.where(), _ADDS_WEIGHT, "2.16", None, True, True))


_ADDS_WEIGHT = "tensorflow.keras.Layer.add_weight(name by position)"


def check_arguments(machine: Machine, function: LibraryName, given: Arguments, site: Site) -> None:
    """Record keyword arguments that a called function or class of the library no longer accepts."""
    if is_of_keras_2(function.package) or function.package == FIRST or function.name.startswith(LEGACY_OPTIMIZERS):
        return
    for name, gone in _refused(function.name, given):
        if name != REFUSED_BY_OPTIMIZERS[0]:
            place = given.written.get(name, site)
            machine.emit(RemovedNameUsed(place, machine.where(), f"{function.name}({name})", gone, None, True, True))


def _refused(function: str, given: Arguments) -> list[tuple[str, str]]:
    """Keyword arguments that a function or method no longer accepts, and the release in which each was removed."""
    gone = parameters_since(function) if given.keywords else {}
    return [(name, gone[name]) for name in given.keywords if name in gone]


def optimizer_arguments(machine: Machine, optimizer: str, given: Arguments, site: Site) -> None:
    """Record a keyword argument of a new optimizer that no optimizer accepts any more."""
    name, gone, instead = REFUSED_BY_OPTIMIZERS
    if name in given.keywords and not optimizer.startswith(LEGACY_OPTIMIZERS) and not machine.library_state.is_private:
        place = given.written.get(name, site)
        machine.emit(RemovedNameUsed(place, machine.where(), f"{optimizer}({name})", gone, instead, True))


def symbolic_tensor(machine: Machine, name: str, site: Site) -> None:
    """Record that a removed attribute of a symbolic tensor of Keras is read. In `call`, Keras passes others."""
    gone = method_since(_SYMBOLIC, name)
    if gone is None or machine.plan.mentions(f"{PRIVATE}.keras"):
        return
    if not any(caller.function == "call" for caller in callers(machine.where().caller)):
        machine.emit(RemovedNameUsed(site, machine.where(), f"{_SYMBOLIC}.{name}", gone, None, True, True))


_SYMBOLIC = "tensorflow.keras.KerasTensor"


def unknown_attribute(machine: Machine, owner: Symbol, name: str, site: Site) -> None:
    """Record that a removed attribute of a weight, layer or output is read, given by a property of a library object."""
    if name not in _LOST:
        return
    container, is_element, is_any = _outermost(owner)
    if container.parts[0] != "attribute":
        return
    library = (_ELEMENTS if is_element else _PARTS).get(container.parts[-1], "")
    receiver = machine.library_state.properties.get(container)
    if receiver is None or receiver.is_private is not False or receiver.library.startswith(LEGACY_OPTIMIZERS):
        return
    gone = method_since(library, name)
    if gone is not None and (is_any or name not in _OF_MODELS):
        machine.emit(RemovedNameUsed(site, machine.where(), f"{library}.{name}", gone, None, True, True))


def _outermost(value: Symbol) -> tuple[Symbol, bool, bool]:
    """Container that a value is an element of, whether it is one, and whether it stands for any of the elements."""
    is_element = is_any = False
    while value.parts[0] in ("item", "slice", "in_iteration"):
        is_element = is_element or value.parts[0] == "item"
        is_any = is_any or value.parts[0] == "in_iteration"
        value = symbol(value.parts[2 if value.parts[0] == "in_iteration" else 1])
    return value, is_element, is_any


_ELEMENTS = {
    "inputs": "tensorflow.keras.KerasTensor",
    "layers": "tensorflow.keras.Layer",
    "non_trainable_variables": "tensorflow.keras.Variable",
    "outputs": "tensorflow.keras.KerasTensor",
    "trainable_variables": "tensorflow.keras.Variable",
    "trainable_weights": "tensorflow.keras.Variable",
    "variables": "tensorflow.keras.Variable",
    "weights": "tensorflow.keras.Variable",
}
"""Property of models, layers and optimizers that is a list → class of its elements."""

_PARTS = {
    "bias": "tensorflow.keras.Variable",
    "input": "tensorflow.keras.KerasTensor",
    "kernel": "tensorflow.keras.Variable",
    "output": "tensorflow.keras.KerasTensor",
}
"""Property of models and layers → class of its value."""

_OF_MODELS = frozenset({"input_shape", "output_shape"})
"""Attributes of layers that models, which can be layers of a model, still have."""

_LOST = _OF_MODELS.union(UNLISTED["tensorflow.keras.Variable"], {"get_input_at", "get_output_at", "inbound_nodes"})
"""Attributes that the classes of these properties have lost."""


def unknown_method(machine: Machine, called: Symbol, name: str, site: Site) -> None:
    """Record a method call of an unknown value if only a removed class member has the name, or if the value is an item
    of an attribute that only a library class has."""
    owner = symbol(called.parts[1])
    gone = UNMISTAKABLE.get(name) or _OF_ITEMS.get((_container_of(owner), name))
    made_by = symbol(owner.parts[1]) if owner.parts[0] == "call" else owner
    if gone is None and name in _OF_OPTIMIZERS and words(str(made_by.parts[-1])) & {"opt", "optimizer"}:
        gone = "tensorflow.keras.Optimizer"
    if called.origin.startswith(f"{FIRST}."):
        return
    if gone is not None and called.package in _OWN and not _may_be_private(machine, None, gone):
        machine.emit(
            RemovedNameUsed(site, machine.where(), f"{gone}.{name}", method_since(gone, name) or "", None, True)
        )


def unknown_arguments(machine: Machine, called: Symbol, method: str, given: Arguments, site: Site) -> None:
    """Record arguments that only models of Keras 2 accepted, in a call of an unknown object's `fit` or the like."""
    function = f"tensorflow.keras.Model.{method}"
    if _OF_LOADING.isdisjoint(given.keywords) or called.origin.startswith(f"{FIRST}.") or called.package not in _OWN:
        return
    if not _may_be_private(machine, None, function):
        for name, gone in _refused(function, given):
            place = given.written.get(name, site)
            machine.emit(RemovedNameUsed(place, machine.where(), f"{function}({name})", gone, None, True))


_OF_LOADING = frozenset({"max_queue_size", "use_multiprocessing"})
"""Arguments that no other package's `fit` has."""


def _container_of(item: Symbol) -> str:
    """Attribute that a value is an item of, in this iteration of a loop or an earlier one. "" if there is none."""
    while item.parts[0] == "in_iteration":
        item = symbol(item.parts[-1])
    container = symbol(item.parts[1]) if item.parts[0] == "item" else item
    return str(container.parts[-1]) if container is not item and container.parts[0] == "attribute" else ""


_OF_ITEMS = {("metrics", "reset_states"): "tensorflow.keras.Metric"}
"""(Attribute with several objects, method of each) → their class."""

_OF_OPTIMIZERS = frozenset({"_create_all_weights", "get_gradients", "get_updates"})
"""Methods that an object called an optimizer has only if it is one of Keras 2."""

UNMISTAKABLE = {
    "evaluate_generator": "tensorflow.keras.Model",
    "experimental_run_v2": "tensorflow.distribute.Strategy",
    "fit_generator": "tensorflow.keras.Model",
    "get_scaled_loss": "tensorflow.keras.optimizers.LossScaleOptimizer",
    "get_unscaled_gradients": "tensorflow.keras.optimizers.LossScaleOptimizer",
    "make_initializable_iterator": "tensorflow.data.Dataset",
    "make_one_shot_iterator": "tensorflow.data.Dataset",
    "predict_generator": "tensorflow.keras.Model",
}
"""Methods that nothing else is likely to have → their class."""

_OWN = ("", "tensorflow")
"""Packages whose objects may have them, "" for values that come from no library."""
