"""Names that a file uses as only Keras models are used, anywhere in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site
from gpulint.syntax import ir, walk

_Name = tuple[object, ...]
"""Scope of a name, and the parts of `self.model`."""

OF_KERAS_ALONE: frozenset[str] = frozenset({"predict_on_batch", "test_on_batch", "train_on_batch"})
"""Methods that Keras models have, and those of other libraries do not."""


def is_of_keras(machine: Machine, site: Site) -> bool:
    """Whether a call is one of a model, or of its `predict`, that the same file also uses as only Keras models are:
    `self.model.predict(x)` in one method, `self.model.train_on_batch(x, y)` in a later one, `model(x)` before
    `model.trainable_variables`."""
    module = machine.frame.module.syntax
    if module.path != site.path or module.words.isdisjoint(_WORDS):
        return False
    return site.node in machine.project.remembered(("keras names", module.path), lambda: _found(module), module.path)


_WEIGHTS = frozenset({"load_weights", "save_weights"})

_VARIABLES = frozenset({"trainable_variables", "trainable_weights"})

_WORDS = OF_KERAS_ALONE | _WEIGHTS | _VARIABLES | {"compile", "fit"}


def _found(module: ir.Module) -> frozenset[int]:
    """Numbers of the calls."""
    calls: defaultdict[_Name, set[int]] = defaultdict(set)
    used: set[_Name] = set()
    bases = {
        one.name: base.id
        for one in module.body
        if isinstance(one, ir.ClassDef)
        for base in one.bases
        if isinstance(base, ir.Name)
    }
    roots = _roots(bases)
    for call, functions, cls in _uses(module.body, (), ""):
        cls = roots.get(cls, cls)
        if isinstance(call, ir.Attribute):
            if (owner := _name(call.value, functions, cls)) is not None:
                used.add(owner)
            continue
        direct = _name(call.function, functions, cls)
        if direct is not None:
            calls[direct].add(call.number)
        if isinstance(call.function, ir.Attribute):
            owner = _name(call.function.value, functions, cls)
            if owner is not None and call.function.name == "predict":
                calls[owner].add(call.number)
            if owner is not None and _is_use(call.function.name, call, "torch" in module.words):
                used.add(owner)
    return frozenset().union(*(calls[name] for name in used))


def _roots(bases: dict[str, str]) -> dict[str, str]:
    """Outermost known base of each class, from the last base that each one names."""
    roots: dict[str, str] = {}
    for name in bases:
        chain: dict[str, None] = {}
        while name in bases and name not in roots and name not in chain:
            chain[name] = None
            name = bases[name]
        roots |= dict.fromkeys(chain, roots.get(name, name))
    return roots


def _is_use(method: str, call: ir.Call, beside_torch: bool) -> bool:
    """Whether a call of a method is one that only Keras models have, or have beside those of PyTorch's packages."""
    if beside_torch or method in OF_KERAS_ALONE:
        return method in OF_KERAS_ALONE
    given = {argument.keyword for argument in call.arguments}
    files = (one.value.value for one in call.arguments if isinstance(one.value, ir.Constant))
    return (
        (method in _WEIGHTS and not any(map(is_of_other_library, files)))
        or (method == "fit" and ({"epochs", "verbose"} <= given or is_keras_fit(given)))
        or (method == "compile" and {"optimizer", "loss"} <= given)
    )


def is_keras_fit(given: AbstractSet[str | None]) -> bool:
    """Whether these keywords are such as only the `fit` of Keras takes."""
    return not given.isdisjoint(_OF_FIT) or {"epochs", "validation_data"} <= given


_OF_FIT = frozenset(
    {"initial_epoch", "steps_per_epoch", "validation_batch_size", "validation_freq", "validation_steps"}
)


def is_of_other_library(file: object) -> bool:
    """Whether the name of a file of weights ends as those of other libraries do: Keras refuses it or never wrote it."""
    return isinstance(file, str) and file.rpartition(".")[2].lower() in _OF_OTHERS


_OF_OTHERS = frozenset(
    {"bin", "caffemodel", "joblib", "onnx", "params", "pdparams", "pickle", "pkl", "pt", "pth", "safetensors"}
)


def _uses(
    node: object, functions: tuple[ir.FunctionDef, ...], cls: str
) -> Iterator[tuple[ir.Call | ir.Attribute, tuple[ir.FunctionDef, ...], str]]:
    """Every call, and every attribute that only models and their layers have, with the functions around it and the
    outermost class."""
    pending = [(node, functions, cls)]
    while pending:
        present, around, owner = pending.pop()
        if isinstance(present, (tuple, list)):
            pending += [(one, around, owner) for one in present]
            continue
        if not isinstance(present, ir.Node):
            continue
        if isinstance(present, ir.FunctionDef):
            around = (*around, present)
        elif isinstance(present, ir.ClassDef):
            owner = owner or present.name
        elif isinstance(present, ir.Call) or (isinstance(present, ir.Attribute) and present.name in _VARIABLES):
            yield present, around, owner
        pending += [(getattr(present, name), around, owner) for name in walk.fields(present)]


def _name(node: ir.Expr, functions: tuple[ir.FunctionDef, ...], cls: str) -> _Name | None:
    """A name or a chain of attributes, with the function, the class or the module that it belongs to."""
    parts: list[str] = []
    while isinstance(node, ir.Attribute):
        parts.append(node.name)
        node = node.value
    if not isinstance(node, ir.Name):
        return None
    if node.id == "self" and cls:
        return (cls, *parts)
    scope = next((one.number for one in reversed(functions) if node.id in one.local_names), None)
    return (scope, node.id, *parts)
