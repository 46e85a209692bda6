"""Calls of values of any kind, and class definitions."""

from __future__ import annotations

from typing import Any

from gpulint.analysis.domain.completion import PathEnds
from gpulint.analysis.domain.values.base import Arguments, Constant, LibraryName, Value
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import (
    Bound,
    ContextManagerFunction,
    Descriptor,
    Function,
    Partial,
    Traced,
    UserClass,
)
from gpulint.analysis.domain.values.managers import GeneratorManager
from gpulint.analysis.engine import name_lookup
from gpulint.analysis.engine.activation import call_function
from gpulint.analysis.engine.machine import Frame, Machine
from gpulint.analysis.plan.events import FunctionEntered
from gpulint.places import Site
from gpulint.syntax import ir


def call_value(machine: Machine, function: Value, arguments: Arguments, site: Site) -> Value:
    """Result of calling a value that is not a `Union`. Raises `PathEnds` if no path returns."""
    if isinstance(function, Constant):
        raise PathEnds
    if isinstance(function, LibraryName):
        return machine.library.call_name(function, arguments, site)
    if isinstance(function, Function):
        machine.emit(FunctionEntered(site, machine.where(), function, arguments.positional))
        result = call_function(machine, function, arguments, site)
        machine.library.function_called(function, arguments, result, site)
        return result
    if isinstance(function, Bound):
        if isinstance(function.method, str):
            return machine.library.call_method(function.receiver, function.method, arguments, site)
        machine.library.method_called(function.receiver, function.method, arguments, site)
        return call_method(machine, function.receiver, function.method, arguments, site)
    if isinstance(function, UserClass):
        return machine.library.instantiate(function, arguments, site)
    if isinstance(function, Partial):
        return machine.each(
            function.function,
            lambda inner: call_value(machine, inner, function.arguments.merged(arguments), site),
            site,
        )
    if isinstance(function, ContextManagerFunction):
        return GeneratorManager(site, function.function, arguments)
    return machine.library.call_value(function, arguments, site)


def call_method(machine: Machine, receiver: Value, method: Value, arguments: Arguments, site: Site) -> Value:
    """Result of calling a function of a class with its receiver as the first argument."""
    if isinstance(method, Traced):
        return machine.library.call_traced(method, arguments, site, receiver)
    if isinstance(method, Function):
        machine.emit(FunctionEntered(site, machine.where(), method, arguments.positional))
        result = call_function(machine, method, arguments.with_receiver(receiver), site, receiver)
        machine.library.function_called(method, arguments, result, site)
        return result
    return call_value(machine, method, arguments.with_receiver(receiver), site)


def arguments_from(machine: Machine, args: Value | None, kwargs: Value | None) -> Arguments:
    """Arguments of a call that is described by its `args` and `kwargs`."""
    positional = machine.choose(args or Items("tuple", ()))
    named = machine.choose(kwargs or Mapping({}, True, None))
    values = positional.items if isinstance(positional, Items) else None
    keywords = named.entries if isinstance(named, Mapping) else {}
    return Arguments(
        tuple(machine.choose(value) for value in values or ()),
        {str(key): machine.choose(value) for key, value in keywords.items()},
        values is None,
    )


def define_class(machine: Machine, node: ir.ClassDef) -> UserClass:
    """Run a class body and create the class."""
    bases = tuple(machine.choose(machine.evaluate(base)) for base in node.bases)
    for keyword in node.keywords:
        machine.evaluate(keyword.value)
    outer = machine.frame
    namespace: dict[str, Any] = {}
    cls = UserClass(node, outer.module, bases, namespace)
    frame = Frame(outer.module, namespace, name_lookup.enclosing(machine), outer.caller, outer, node)
    machine.frame = frame
    try:
        machine.execute(node.body)
    finally:
        machine.frame = outer
    for value in namespace.values():
        function = value.function if isinstance(value, (Descriptor, Traced)) else value
        if isinstance(function, Function) and function.owner is None:
            function.owner = cls
    return cls
