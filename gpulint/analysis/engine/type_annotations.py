"""Values from type annotations, where nothing else is known: parameters of functions that the program itself never
calls, and results of calls that are not followed."""

from __future__ import annotations

from gpulint.analysis.domain.module_scope import ModuleScope
from gpulint.analysis.domain.values.base import Imported, LibraryName, Unknown, Value
from gpulint.analysis.domain.values.functions import ModuleValue, UserClass
from gpulint.analysis.engine import imports
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site
from gpulint.syntax import ir


def value(machine: Machine, annotation: ir.Expr | None, module: ModuleScope, site: Site) -> Value | None:
    """Value that an annotation describes; None if it names no class that is known."""
    return _instance(machine, _meant(machine, annotation, module), site)


def parameter(machine: Machine, annotation: ir.Expr | None, module: ModuleScope, site: Site) -> Value | None:
    """Value that an annotation describes, for a parameter of a function that the program itself never calls. An
    instance of a class of the project is constructed from unknown arguments."""
    meant = _meant(machine, annotation, module)
    if isinstance(meant, UserClass) and not any(meant in one.classes[1:] for one in machine.plan.classes.values()):
        return machine.instantiate_unknown(meant, site)
    return _instance(machine, meant, site)


def note(machine: Machine, annotation: ir.Expr | None, module: ModuleScope, unknown: Unknown) -> None:
    """Pass on the library class that the annotation of a parameter of unknown value names."""
    meant = _meant(machine, annotation, module)
    if isinstance(meant, LibraryName):
        machine.library.annotated(unknown, meant)


def _instance(machine: Machine, meant: Value | None, site: Site) -> Value | None:
    return machine.library.instance_of(meant, site) if isinstance(meant, LibraryName) else None


def _meant(machine: Machine, annotation: ir.Expr | None, module: ModuleScope) -> Value | None:
    """The class that an annotation names: `a.B`, `"a.B"`. A choice of several (`Optional[a.B]`) is unknown."""
    if isinstance(annotation, ir.Constant) and isinstance(annotation.value, str):
        return _named(machine, annotation.value.split("."), module)
    names: list[str] = []
    while isinstance(annotation, ir.Attribute):
        names.append(annotation.name)
        annotation = annotation.value
    return _named(machine, [annotation.id, *reversed(names)], module) if isinstance(annotation, ir.Name) else None


def _named(machine: Machine, names: list[str], module: ModuleScope) -> Value | None:
    first, *rest = names
    found = module.globals.get(first)
    if isinstance(found, Imported):
        found = imports.module_attribute(machine, ModuleValue(module), first)
    for name in rest:
        if isinstance(found, LibraryName):
            found = machine.library.name(f"{found.name}.{name}", found.package)
        elif isinstance(found, ModuleValue):
            found = imports.module_attribute(machine, found, name)
        else:
            return None
    return found if isinstance(found, (LibraryName, UserClass)) else None
