"""Names, attributes, items: reading and writing them."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator
from typing import Any

from gpulint.analysis import containers, counters, imports, mappings, picked, protocols
from gpulint.analysis.control import Halts
from gpulint.analysis.machine import Machine
from gpulint.analysis.state import MISSING, alternatives, join
from gpulint.analysis.values import (
    NONE,
    Arguments,
    Bound,
    Constant,
    Descriptor,
    External,
    Folder,
    Function,
    Imported,
    Items,
    Join,
    Manager,
    Mapping,
    ModuleValue,
    Namespace,
    Object,
    Partial,
    Super,
    Text,
    Traced,
    Unknown,
    UserClass,
    Value,
    named,
    symbol_of,
)
from gpulint.knowledge import canonical
from gpulint.syntax import ir

_BUILTINS = frozenset(dir(builtins))


def load(machine: Machine, name: str, node: ir.Node) -> Value:
    """The value of a name: local, enclosing, global, builtin."""
    frame = machine.frame
    scopes = (frame.declared[name],) if name in frame.declared else (frame.locals, *frame.closure, frame.module.globals)
    for scope in scopes:
        value = scope.get(name, MISSING)
        if value is not MISSING:
            if type(value) is Imported:
                value = imports.resolve(machine, value)
                machine.state.write(scope, name, value)
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
        return External(f"builtins.{name}")
    return Unknown(("name", frame.module.path, name))


def store(machine: Machine, name: str, value: Value) -> None:
    frame = machine.frame
    machine.state.write(frame.declared.get(name, frame.locals), name, named(value, name))


def enclosing(machine: Machine) -> tuple[dict[str, Value], ...]:
    """The scopes that a function defined here closes over."""
    frame = machine.frame
    if frame.locals is frame.module.globals:
        return ()
    if isinstance(frame.definition, ir.ClassDef):
        return frame.closure
    return (frame.locals, *frame.closure)


def defaults(machine: Machine, parameters: tuple[ir.Parameter, ...]) -> dict[str, Value]:
    """The values of parameter defaults, evaluated where the function is defined."""
    return {
        parameter.name: machine.choose(machine.evaluate(parameter.default))
        for parameter in parameters
        if parameter.default is not None
    }


def bound_names(target: ir.Expr) -> Iterator[str]:
    """The names that assigning to a target binds."""
    if isinstance(target, ir.Name):
        yield target.id
    elif isinstance(target, ir.Starred):
        yield from bound_names(target.value)
    elif isinstance(target, ir.Sequence_):
        for element in target.elements:
            yield from bound_names(element)


def assign(machine: Machine, target: ir.Expr, value: Value) -> None:
    """Give a value to any kind of target."""
    if isinstance(target, ir.Name):
        _replaced(machine, machine.frame.locals.get(target.id), target)
        store(machine, target.id, value)
    elif isinstance(target, ir.Attribute):
        _assign_attribute(machine, target, value)
    elif isinstance(target, ir.Subscript):
        _assign_item(machine, target, value)
    elif isinstance(target, ir.Starred):
        assign(machine, target.value, Unknown(("rest", machine.site(target))))
    elif isinstance(target, ir.Sequence_):
        _unpack(machine, target, machine.choose(value))


def _replaced(machine: Machine, before: Any, target: ir.Expr) -> None:
    """Something else is put where a value was: in a loop, a container is given up so."""
    if machine.context.loops and isinstance(before, (Items, Mapping, Join)):
        for _, option in alternatives(before, machine.path):
            if isinstance(option, (Items, Mapping)):
                machine.library.container_cleared(option, machine.site(target))


def _unpack(machine: Machine, target: ir.Sequence_, value: Value) -> None:
    count = len(target.elements)
    for index, element in enumerate(target.elements):
        if isinstance(value, Join):
            parts = [(path, _part(machine, option, index, count, element)) for path, option in value.alternatives]
            part = join(parts, ("item", symbol_of(value), index))
        else:
            part = _part(machine, value, index, count, element)
        assign(machine, element, part)


def _part(machine: Machine, value: Value, index: int, count: int, element: ir.Expr) -> Value:
    """The part of a value with `count` parts that goes to the target `element`."""
    if isinstance(value, Items):
        items = value.items
        if items is not None and len(items) == count:
            return items[index]
        if items is None and value.element is not None:
            return value.element
    elif (part := machine.library.unpack(value, index, machine.site(element))) is not None:
        return part
    return Unknown(("item", symbol_of(value), index))


def _assign_attribute(machine: Machine, target: ir.Attribute, value: Value) -> None:
    receiver = machine.choose(machine.evaluate(target.value))
    if isinstance(receiver, Object):
        machine.library.attribute_set(receiver, target.name, value, machine.site(target))
        _replaced(machine, receiver.attributes.get(target.name), target)
        value = counters.kept(machine, receiver, target.name, named(value, target.name), machine.site(target))
        machine.state.write(receiver.attributes, target.name, value)
    elif isinstance(receiver, ModuleValue):
        machine.state.write(receiver.scope.globals, target.name, value)
    elif isinstance(receiver, UserClass):
        machine.state.write(receiver.namespace, target.name, value)
    else:
        machine.library.escaped(value, "stored", machine.site(target))


def _assign_item(machine: Machine, target: ir.Subscript, value: Value) -> None:
    container = machine.choose(machine.evaluate(target.value))
    key = machine.choose(machine.evaluate(target.index)) if not isinstance(target.index, ir.Slice) else NONE
    if isinstance(container, Mapping):
        if isinstance(key, Constant) and isinstance(key.value, str):
            value = named(value, key.value)
        elif not mappings.is_known(key):
            machine.library.container_grown(container, value, machine.site(target))
        _replaced(machine, container.entries.get(mappings.key_of(key)), target)
        machine.state.write(container.entries, mappings.key_of(key), value)
        if not mappings.is_known(key):
            machine.state.write(container.state, "complete", False)
            machine.library.escaped(value, "stored", machine.site(target))
    elif isinstance(container, Items) and isinstance(target.index, ir.Slice):
        containers.clear(machine, container, machine.site(target))
    elif isinstance(container, Items) and container.items is not None:
        items = list(container.items)
        if isinstance(key, Constant) and isinstance(key.value, int) and -len(items) <= key.value < len(items):
            items[key.value] = value
            machine.state.write(container.state, "items", tuple(items))
        else:
            machine.state.write(container.state, "items", None)
            element = value if machine.library.is_same_for_all(value) else None
            machine.state.write(container.state, "element", element)
    elif isinstance(container, Items) and machine.library.is_same_for_all(value):
        machine.state.write(container.state, "element", value)
    elif isinstance(container, Object) and container.cls and (found := container.cls.find("__setitem__")):
        machine.call(Bound(container, found[0]), Arguments((key, value)), machine.site(target))
    else:
        updated = machine.library.set_item(container, key, value, machine.site(target))
        if isinstance(target.value, ir.Name) and updated is not None:
            assign(machine, target.value, updated)


def attribute(machine: Machine, receiver: Value, name: str, node: ir.Node) -> Value:
    """`receiver.name` of a value that is no join. Raises Halts for None, which has none."""
    if isinstance(receiver, Constant) and receiver.value is None:
        raise Halts
    if isinstance(receiver, External):
        dotted = f"{receiver.name}.{name}"
        machine.library.name_used(dotted, receiver.package, machine.site(node))
        return External(canonical(dotted), receiver.package)
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
    if isinstance(receiver, (Constant, Text, Items, Mapping, Namespace, Manager)):
        return Bound(receiver, name)
    if (found := machine.library.get_attribute(receiver, name, node)) is not None:
        return found
    return Unknown(("attribute", symbol_of(receiver), name))


def _object_attribute(machine: Machine, receiver: Object, name: str, node: ir.Node) -> Value:
    if name in receiver.attributes:
        return machine.choose(receiver.attributes[name])
    if receiver.cls is not None and (found := receiver.cls.find(name)):
        return bind(machine, found[0], receiver, node)
    if name == "__class__" and receiver.cls is not None:
        return receiver.cls
    return machine.library.get_object_attribute(receiver, name, node)


def bind(machine: Machine, value: Value, receiver: Value, node: ir.Node) -> Value:
    """What a class attribute is when it is read from an instance."""
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


def _is_class(name: str) -> bool:
    """Whether a library's name is that of a class: `typing.Optional`, `builtins.list`, and not `sys.argv`."""
    home, _, last = name.rpartition(".")
    return last[:1].isupper() or home == "builtins"


def item(machine: Machine, container: Value, key: Value, node: ir.Node) -> Value:
    """`container[key]` of values that are no joins."""
    index = key.value if isinstance(key, Constant) else None
    if isinstance(container, Items):
        items = container.items
        if items is not None and isinstance(index, int) and -len(items) <= index < len(items):
            return machine.choose(items[index])
        if container.element is not None:
            return container.element
        if items and all(type(one) is type(items[0]) for one in items) and not isinstance(items[0], Constant):
            return items[0]
    elif isinstance(container, Mapping) and (entry := mappings.entry(machine, container, key)) is not None:
        return entry
    elif isinstance(container, Namespace):
        if (named_so := picked.of_namespace(machine, container, key)) is not None:
            return named_so
    elif (found := machine.library.get_item(container, key, node)) is not None:
        return found
    elif isinstance(container, Constant) and isinstance(container.value, str) and isinstance(index, int):
        if -len(container.value) <= index < len(container.value):
            return Constant(container.value[index])
    elif isinstance(container, UserClass) or (isinstance(container, External) and _is_class(container.name)):
        return container  # a subscripted generic class
    elif (made := protocols.own(machine, container, "__getitem__", (key,), machine.site(node))) is not None:
        return made
    return Unknown(("item", symbol_of(container), symbol_of(key)))


def sliced(machine: Machine, container: Value, bounds: tuple[Value, ...], node: ir.Node) -> Value:
    """`container[lower:upper:step]`."""
    known: list[Any] = [bound.value if isinstance(bound, Constant) else ... for bound in bounds]
    lower, upper, step = known
    exact = all(bound is None or isinstance(bound, int) for bound in (lower, upper, step))
    if isinstance(container, Items):
        if exact and container.items is not None and step != 0:
            return Items(container.kind, container.items[lower:upper:step], None, container.symbol)
        items = container.items
        return Items(
            container.kind,
            None,
            container.element or (items[0] if items else None),
            ("slice", machine.site(node)),
        )
    if (part := machine.library.get_slice(container, bounds, node)) is not None:
        return part
    if isinstance(container, Constant) and isinstance(container.value, (str, bytes)) and exact and step != 0:
        return Constant(container.value[lower:upper:step])
    return Unknown(("slice", symbol_of(container), *(symbol_of(bound) for bound in bounds)))
