"""Lookup by names that are known only at run time: `getattr(nets, name)`, `globals()["get_" + name]`,
`eval(f"make_{kind}")`. The result is one of the candidates, each on the path on which the name equals its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.module_scope import ModuleScope
from gpulint.analysis.domain.values.base import Constant, Imported, PartialString, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Mapping
from gpulint.analysis.domain.values.functions import Function, ModuleValue, Namespace, Partial, Traced, UserClass
from gpulint.analysis.domain.values.instances import AttributeDict
from gpulint.analysis.engine import dicts, imports
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site

MIN_KNOWN = 3
"""Minimum number of known letters of a name to search for it among all names of a program or class."""


def of_module(machine: Machine, scope: ModuleScope, name: Value, least: int = 0) -> Value | None:
    """One of the functions and classes of a project module; None if the candidates are unknown. At least `least`
    letters of the name must be known."""
    names = (
        one
        for one, value in scope.globals.items()
        if isinstance(value, (Function, UserClass, Traced, Partial))
        or (isinstance(value, Imported) and value.attribute is not None)
    )
    return _one_of(machine, name, names, least, lambda one: imports.module_attribute(machine, ModuleValue(scope), one))


def of_names(machine: Machine, names: AttributeDict | Namespace, key: Value) -> Value | None:
    """Value under a key among the attributes of an object or the names of a module; None if it is unknown."""
    if isinstance(names, AttributeDict):
        found = names.owner.attributes.get(str(key.value)) if isinstance(key, Constant) else None
        return found if found is None else machine.choose(found)
    if isinstance(key, Constant) and isinstance(key.value, str):
        return imports.module_attribute(machine, ModuleValue(names.scope), key.value)
    own = names.scope is machine.frame.module
    return of_module(machine, names.scope, key, MIN_KNOWN if own else 0)


def module_of(machine: Machine, dotted: PartialString, site: Site) -> Value | None:
    """One of the modules of a package: `import_module("nets." + name)`; None if the package is unknown."""
    project, importer = machine.project, machine.frame.module.path
    package, _, beginning = (dotted.parts[0] or "").rpartition(".")
    ending, dot, below = (dotted.parts[-1] or "").partition(".")
    if not package:
        return None
    modules = {name: f"{package}.{name}{dot}{below}" for name in project.names_in(package, 0, importer)}
    names = [name for name, module in modules.items() if project.find(module, importer) is not None]
    rest = PartialString((beginning, *dotted.parts[1:-1], ending or None), ("rest", dotted.symbol))
    return _one_of(machine, rest, names, 0, lambda one: imports.loaded(machine, modules[one], site))


def of_object(machine: Machine, owner: Object, name: Value, read: Callable[[str], Value]) -> Value | None:
    """One of the methods of an object whose names match the known parts."""
    if owner.cls is None:
        return None
    names = (one for cls in owner.cls.classes for one, value in cls.namespace.items() if isinstance(value, Function))
    return _one_of(machine, name, names, MIN_KNOWN, read)


def evaluated(machine: Machine, text: Value, load: Callable[[str], Value]) -> Value | None:
    """Result of `eval` of a name: `eval("make_" + kind)`, `eval(f"nets.{name}")`."""
    first, *rest = text.parts if isinstance(text, PartialString) else (known(text),)
    if not isinstance(first, str):
        return of_module(machine, machine.frame.module, text, MIN_KNOWN)
    home, _, beginning = first.rpartition(".")
    if not home.isidentifier() and (home or (not rest and not beginning.isidentifier())):
        return None
    if not home:
        return of_module(machine, machine.frame.module, text, MIN_KNOWN) if rest else load(beginning)
    module = load(home)
    if not isinstance(module, ModuleValue):
        return None
    if not rest:
        return imports.module_attribute(machine, module, beginning)
    return of_module(machine, module.scope, PartialString((beginning, *rest), ("rest", symbol_of(text))))


def _one_of(
    machine: Machine, name: Value, names: Iterable[str], least: int, read: Callable[[str], Value]
) -> Value | None:
    parts = name.parts if isinstance(name, PartialString) else (None,)
    if sum(len(part) for part in parts if part is not None) < least:
        return None
    meant = [one for one in dict.fromkeys(names) if not one.startswith("_") and _has_parts(one, parts)]
    if len(meant) > dicts.MAX_CHOICES:
        return None
    return dicts.entry(machine, Mapping({one: read(one) for one in meant}, True, ("named", name)), name)


def _has_parts(name: str, parts: Sequence[str | None]) -> bool:
    """Whether a name is the concatenation of these parts, where None matches any text."""
    pieces = [""]
    for part in parts:
        if part is None:
            pieces.append("")
        else:
            pieces[-1] += part
    first, *rest = pieces
    if not rest:
        return name == first
    *middle, last = rest
    if not name.startswith(first):
        return False
    at = len(first)
    for piece in middle:
        if (found := name.find(piece, at)) < 0:
            return False
        at = found + len(piece)
    return len(name) - at >= len(last) and name.endswith(last)
