"""Attribute access, following the rules of Python's classes."""

from __future__ import annotations

from gpulint.analysis.domain.completion import PathEnds
from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.values.base import (
    Arguments,
    Constant,
    Folder,
    LibraryName,
    PartialString,
    Unknown,
    Value,
    symbol_of,
)
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import (
    Bound,
    Descriptor,
    Function,
    ModuleValue,
    Namespace,
    Partial,
    Super,
    Traced,
    UserClass,
)
from gpulint.analysis.domain.values.instances import AttributeDict
from gpulint.analysis.domain.values.managers import Manager
from gpulint.analysis.engine import imports
from gpulint.analysis.engine.machine import Machine
from gpulint.syntax import ir


def attribute(machine: Machine, receiver: Value, name: str, node: ir.Node) -> Value:
    """Value of `receiver.name`, where the receiver is not a `Union`. Raises `PathEnds` for None, which has no such
    attribute."""
    if isinstance(receiver, Constant) and receiver.value is None:
        raise PathEnds
    if isinstance(receiver, LibraryName):
        if name in ("__name__", "__qualname__"):
            return Unknown(("attribute", receiver.symbol, name))
        dotted = f"{receiver.name}.{name}"
        machine.library.name_used(dotted, receiver.package, machine.site(node))
        return machine.library.name(dotted, receiver.package)
    if isinstance(receiver, ModuleValue):
        return imports.module_attribute(machine, receiver, name)
    if isinstance(receiver, Folder):
        return imports.folder_attribute(machine, receiver, name, machine.site(node))
    if isinstance(receiver, Object):
        return _object_attribute(machine, receiver, name, node)
    if isinstance(receiver, UserClass):
        return _class_attribute(receiver, name)
    if isinstance(receiver, Super):
        return _super_attribute(receiver, name)
    if isinstance(receiver, Function) and name in ("__name__", "__qualname__"):
        return Constant(receiver.name)
    if isinstance(receiver, Partial) and name == "func":
        return receiver.function
    if isinstance(receiver, Constant) and not hasattr(receiver.value, name):
        return Unknown(("attribute", symbol_of(receiver), name))  # the constant is a member of an enumeration
    if isinstance(receiver, (AttributeDict, Constant, PartialString, Items, Mapping, Namespace, Manager, Descriptor)):
        return Bound(receiver, name)
    if (found := machine.library.get_attribute(receiver, name, node)) is not None:
        return found
    return Unknown(("attribute", symbol_of(receiver), name))


def _object_attribute(machine: Machine, receiver: Object, name: str, node: ir.Node) -> Value:
    if name == "__dict__":
        return AttributeDict(receiver)
    if name in receiver.attributes:
        value = machine.choose(receiver.attributes[name])
        is_none = isinstance(value, Constant) and value.value is None
        later = machine.library.get_unset_attribute(receiver, name) if is_none else None
        return value if later is None else later
    if receiver.cls is not None and (found := receiver.cls.find(name)):
        return bind(machine, found[0], receiver, node)
    if name == "__class__" and (cls := receiver.cls or machine.library.class_of(receiver)) is not None:
        return cls
    return machine.library.get_object_attribute(receiver, name, node)


def bind(machine: Machine, value: Value, receiver: Value, node: ir.Node) -> Value:
    """Value of a class attribute read from an instance."""
    if isinstance(value, (Function, Traced)):
        return Bound(receiver, value)
    if isinstance(value, Descriptor):
        if value.kind == "property":
            return machine.call(Bound(receiver, value.function), Arguments(), machine.site(node))
        if value.kind == "class":
            owner = receiver.cls if isinstance(receiver, Object) else receiver
            return Bound(owner or receiver, value.function)
        return value.function
    return value


def _class_attribute(receiver: UserClass, name: str) -> Value:
    if found := receiver.find(name):
        value = found[0]
        if isinstance(value, Descriptor):
            return Bound(receiver, value.function) if value.kind == "class" else value.function
        return value
    if name in ("__name__", "__qualname__"):
        return Constant(receiver.name)
    libraries = receiver.libraries()
    if libraries and not receiver.is_open:
        return Bound(receiver, name)
    return Unknown(("attribute", ("class", receiver.module.path, receiver.name), name))


def _super_attribute(receiver: Super, name: str) -> Value:
    own = receiver.receiver.cls if isinstance(receiver.receiver, Object) else receiver.receiver
    value = (own if isinstance(own, UserClass) else receiver.cls).find_beyond(receiver.cls, name)
    if value is None:
        return Bound(receiver, name)
    if isinstance(value, Descriptor):
        return value.function if value.kind == "static" else Bound(receiver.receiver, value.function)
    return Bound(receiver.receiver, value)
