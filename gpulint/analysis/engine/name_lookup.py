"""Names: lookup in the scopes of a frame, and binding."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator

from gpulint.analysis.domain.store import MISSING
from gpulint.analysis.domain.values.base import Constant, Imported, LibraryName, Union, Unknown, Value
from gpulint.analysis.engine import imports
from gpulint.analysis.engine.machine import Machine
from gpulint.syntax import ir

_BUILTINS = frozenset(dir(builtins))


def load(machine: Machine, name: str, node: ir.Node) -> Value:
    """Value of a name in the local, enclosing, global or built-in scope."""
    frame = machine.frame
    scopes = (frame.declared[name],) if name in frame.declared else (frame.locals, *frame.closure, frame.module.globals)
    for scope in scopes:
        value = scope.get(name, MISSING)
        if value is not MISSING:
            if type(value) is Imported or type(value) is Union:
                value = imports.loading(machine, scope, name, value)
            return machine.choose(value)
    if name == "__name__":
        return Constant(frame.module.name)
    if name == "__package__":
        is_package = os.path.basename(frame.module.path) == "__init__.py"
        return Constant(frame.module.name if is_package else frame.module.name.rpartition(".")[0])
    if name == "__file__":
        return Unknown(("file", frame.module.path))
    if (starred := imports.from_star(machine, name)) is not None:
        return starred
    if name in _BUILTINS:
        return LibraryName(f"builtins.{name}")
    return Unknown(("name", frame.module.path, name))


def store(machine: Machine, name: str, value: Value) -> None:
    frame = machine.frame
    machine.state.write(frame.declared.get(name, frame.locals), name, value.renamed(name))


def enclosing(machine: Machine) -> tuple[dict[str, Value], ...]:
    """Scopes that a function defined here closes over."""
    frame = machine.frame
    if frame.locals is frame.module.globals:
        return ()
    if isinstance(frame.definition, ir.ClassDef):
        return frame.closure
    return (frame.locals, *frame.closure)


def defaults(machine: Machine, parameters: tuple[ir.Parameter, ...]) -> dict[str, Value]:
    """Default values of parameters, evaluated where the function is defined."""
    return {
        parameter.name: machine.choose(machine.evaluate(parameter.default))
        for parameter in parameters
        if parameter.default is not None
    }


def bound_names(target: ir.Expr) -> Iterator[str]:
    """Names that an assignment to a target binds."""
    if isinstance(target, ir.Name):
        yield target.id
    elif isinstance(target, ir.Starred):
        yield from bound_names(target.value)
    elif isinstance(target, ir.Sequence_):
        for element in target.elements:
            yield from bound_names(element)
