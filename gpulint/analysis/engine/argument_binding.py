"""Binding of arguments to parameters."""

from __future__ import annotations

from typing import Any

from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, LibraryName, Union, Unknown, Value
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import Function, Traced, UserClass
from gpulint.analysis.engine import type_annotations
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site
from gpulint.syntax import ir


def of_those_that_fit(function: Union, arguments: Arguments) -> Value:
    """The candidates that can be called with these arguments; all of them if none can."""
    if len(function.alternatives) <= MAX_TRIED:
        return function
    fitting = tuple(one for one in function.alternatives if _fits(one[1], arguments))
    return Union(fitting) if len(fitting) > 1 else fitting[0][1] if fitting else function


MAX_TRIED = 8
"""Maximum number of alternative callees that are all called without checking their parameters."""


def _fits(function: Value, arguments: Arguments) -> bool:
    given = len(arguments.positional)
    if isinstance(function, UserClass):
        constructor = function.find("__init__")
        function = constructor[0] if constructor is not None else NONE
        given += 1
    if not isinstance(function, Function) or function.opaque:
        return True
    parameters = function.definition.parameters
    kinds = {one.kind for one in parameters}
    positional = [one.name for one in parameters if one.kind == "positional"]
    named = [one.name for one in parameters if one.kind == "keyword"]
    unfilled = [*positional[given:], *named]
    needed = [name for name in unfilled if name not in function.defaults and name not in arguments.keywords]
    return (
        ("**" in kinds or arguments.keywords.keys() <= {*positional, *named})
        and ("*" in kinds or given <= len(positional))
        and (arguments.open or function.injected or not needed)
    )


def spells_out(arguments: Arguments, definition: ir.FunctionDef | ir.Lambda, name: str) -> bool:
    """Whether a call spells out a constant for a parameter: `show(verbose=True)`."""
    positional = [one.name for one in definition.parameters if one.kind == "positional"]
    position = positional.index(name) if name in positional else None
    value = arguments.get(name, position)
    place = arguments.sites.get(name) or (arguments.sites.get(position) if position is not None else None)
    return type(value) is Constant and value.origin is not None and value.origin == place


def bind(names: dict[str, Value], function: Function, arguments: Arguments, symbol: Any, machine: Machine) -> None:
    """Bind a call's arguments to the parameters. A missing argument is the default, or Unknown."""
    positional = list(arguments.positional)
    rest = dict(arguments.keywords)
    for parameter in function.definition.parameters:
        name = parameter.name
        value: Value | None = None
        if parameter.kind == "positional" and positional:
            value = positional.pop(0)
        elif parameter.kind == "*":
            value = Items("tuple", None, None, (symbol, name)) if arguments.open else Items("tuple", tuple(positional))
            positional = []
        elif parameter.kind == "**":
            is_complete = not (arguments.open or function.opaque or function.injected)
            value = Mapping(dict(rest), is_complete, (symbol, name))
            value.given = {key: (rest[key], site) for key, site in arguments.written.items() if key in rest}
            rest = {}
        elif name in rest:
            value = rest.pop(name)
        if value is None:
            value = function.defaults.get(name) if not arguments.open else None
            if function.injected and not isinstance(value, (LibraryName, Function, Traced, UserClass)):
                value = None  # a configured value is mostly a number or a name
            if type(value) is Constant and type(value.value) is str:
                value = Constant(value.value, value.origin, value.named, True)
            if value is None:
                made = Site(function.module.path, parameter.number)
                value = type_annotations.parameter(machine, parameter.annotation, function.module, made)
            if value is None:
                value = Unknown(("parameter", symbol, name))
                type_annotations.note(machine, parameter.annotation, function.module, value)
        if type(value) is Constant and type(value.value) is int:
            value = value.through(name)
            value.is_passed = name not in function.defaults or value.origin != _origin(function.defaults[name])
        machine.library.bound(value)
        names[name] = value


def _origin(value: Value) -> Site | None:
    return value.origin if isinstance(value, Constant) else None
