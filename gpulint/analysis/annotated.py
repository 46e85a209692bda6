"""What annotations say of values that are not known otherwise: parameters of functions that nobody calls, and what
comes from libraries.

    def create_optimizer(config) -> tf.keras.optimizers.Optimizer: …
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulint.analysis import imports, members
from gpulint.analysis.contexts import Context, Where
from gpulint.analysis.modules import ModuleScope
from gpulint.analysis.values import (
    External,
    Imported,
    Model,
    ModuleValue,
    Object,
    Optimizer,
    Tensor,
    UserClass,
    Value,
)
from gpulint.knowledge import canonical, fact
from gpulint.knowledge.facts import Kind
from gpulint.knowledge.names import PRIVATE
from gpulint.places import Site
from gpulint.syntax import ir

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter


def value(interp: Interpreter, annotation: ir.Expr | None, module: ModuleScope, site: Site) -> Value | None:
    """What stands for a value that is annotated so: an object of TensorFlow that was made elsewhere, or a tensor; None
    where the annotation says nothing of use."""
    return _of(interp, _meant(interp, annotation, module), site)


def parameter(interp: Interpreter, annotation: ir.Expr | None, module: ModuleScope, site: Site) -> Value | None:
    """The same for a parameter of a function that nobody calls. An instance of a class of the project is made of
    unknown arguments."""
    meant = _meant(interp, annotation, module)
    if isinstance(meant, UserClass) and not any(meant in one.classes[1:] for one in interp.plan.classes.values()):
        return members.unmade(interp, meant, site)
    return _of(interp, meant, site)


def _of(interp: Interpreter, meant: Value | None, site: Site) -> Value | None:
    if not isinstance(meant, External):
        return None
    if meant.name == "tensorflow.Tensor":
        return Tensor(site)
    known = fact(meant.name)
    made: Object | None = None
    if known is not None and known.kind is Kind.MODEL:
        made = Model(site, _elsewhere(interp), meant.name)
    elif meant.name in _OPTIMIZERS:
        made = optimizer(interp, site)
    elif known is not None and known.kind is Kind.OPTIMIZER:
        made = Optimizer(site, _elsewhere(interp), meant.name)
    if made is not None:
        made.is_private = meant.package == PRIVATE
    return made


def model(interp: Interpreter, site: Site) -> Model:
    """A model that was made elsewhere, of any kind."""
    made = Model(site, _elsewhere(interp), "tensorflow.keras.Model")
    made.is_private = None
    return made


def optimizer(interp: Interpreter, site: Site) -> Optimizer:
    """An optimizer that was made elsewhere, of any kind."""
    made = Optimizer(site, _elsewhere(interp), "tensorflow.keras.optimizers.Optimizer")
    made.scales = made.is_private = None
    return made


def _elsewhere(interp: Interpreter) -> Where:
    """Where something was made that the program is given: perhaps in a scope."""
    now = interp.where()
    return Where(Context(maybe_scoped=True), now.path, now.caller, now.graph_mode)


_OPTIMIZERS = frozenset({"tensorflow.keras.optimizers.Optimizer", "tensorflow.keras.optimizers.legacy.Optimizer"})


def _meant(interp: Interpreter, annotation: ir.Expr | None, module: ModuleScope) -> Value | None:
    """The class that an annotation names: `a.B`, `"a.B"`. One of several (`Optional[a.B]`) is not known."""
    if isinstance(annotation, ir.Constant) and isinstance(annotation.value, str):
        return _named(interp, annotation.value.split("."), module)
    names: list[str] = []
    while isinstance(annotation, ir.Attribute):
        names.append(annotation.name)
        annotation = annotation.value
    return _named(interp, [annotation.id, *reversed(names)], module) if isinstance(annotation, ir.Name) else None


def _named(interp: Interpreter, names: list[str], module: ModuleScope) -> Value | None:
    first, *rest = names
    found = module.globals.get(first)
    if isinstance(found, Imported):
        found = imports.module_attribute(interp, ModuleValue(module), first)
    for name in rest:
        if isinstance(found, External):
            found = External(canonical(f"{found.name}.{name}"), found.package)
        elif isinstance(found, ModuleValue):
            found = imports.module_attribute(interp, found, name)
        else:
            return None
    return found if isinstance(found, (External, UserClass)) else None
