"""Assignment to targets of any kind."""

from __future__ import annotations

from typing import Any

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.store import alternatives, join
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, Union, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import Bound, Descriptor, ModuleValue, Namespace, UserClass
from gpulint.analysis.domain.values.instances import AttributeDict
from gpulint.analysis.engine import dicts, loop_counters, overwriting, sequences
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.engine.name_lookup import store
from gpulint.syntax import ir


def assign(machine: Machine, target: ir.Expr, value: Value) -> None:
    """Assign a value to a target of any kind."""
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
    """Report that a value is overwritten. In a loop, this releases a container."""
    if machine.context.loops and isinstance(before, (Items, Mapping, Union)):
        for _, option in alternatives(before, machine.path):
            if isinstance(option, (Items, Mapping)):
                machine.library.container_cleared(option, machine.site(target))


def _unpack(machine: Machine, target: ir.Sequence_, value: Value) -> None:
    count = len(target.elements)
    for index, element in enumerate(target.elements):
        if isinstance(value, Union):
            parts = [(path, _part(machine, option, index, count, element)) for path, option in value.alternatives]
            part = join(parts, ("item", symbol_of(value), index))
        else:
            part = _part(machine, value, index, count, element)
        assign(machine, element, part)


def _part(machine: Machine, value: Value, index: int, count: int, element: ir.Expr) -> Value:
    """The element of a value with `count` elements that is assigned to the target `element`."""
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
        if (setter := _setter(receiver, target.name)) is not None:
            machine.call(Bound(receiver, setter), Arguments((value,)), machine.site(target))
            return
        if target.name == "__dict__":
            overwriting.update_attributes(machine, AttributeDict(receiver), Arguments((value,)), machine.site(target))
        machine.library.attribute_set(receiver, target.name, value, machine.site(target))
        _replaced(machine, receiver.attributes.get(target.name), target)
        value = loop_counters.attribute_as_counter(
            machine, receiver, target.name, value.renamed(target.name), machine.site(target)
        )
        machine.state.write(receiver.attributes, target.name, value)
    elif isinstance(receiver, ModuleValue):
        machine.state.write(receiver.scope.globals, target.name, value)
    elif isinstance(receiver, UserClass):
        machine.state.write(receiver.namespace, target.name, value)
    else:
        machine.library.escaped(value, "stored", machine.site(target))


def _setter(receiver: Object, name: str) -> Value | None:
    """Setter of a property of the program's class."""
    found = receiver.cls.find(name) if receiver.cls is not None else None
    return found[0].setter if found and isinstance(found[0], Descriptor) else None


def _assign_item(machine: Machine, target: ir.Subscript, value: Value) -> None:
    container = machine.choose(machine.evaluate(target.value))
    key = machine.choose(machine.evaluate(target.index)) if not isinstance(target.index, ir.Slice) else NONE
    if isinstance(container, Mapping):
        if isinstance(key, Constant) and isinstance(key.value, str):
            value = value.renamed(key.value)
        elif not dicts.is_known(key):
            machine.library.container_grown(container, value, machine.site(target))
        _replaced(machine, container.entries.get(dicts.key_of(key)), target)
        machine.state.write(container.entries, dicts.key_of(key), value)
        if not dicts.is_known(key):
            overwriting.overwrite_any(machine, container.entries, machine.site(target))
            machine.state.write(container.state, "complete", False)
            machine.library.escaped(value, "stored", machine.site(target))
    elif isinstance(container, AttributeDict) and isinstance(key, Constant):
        machine.state.write(container.owner.attributes, str(key.value), value)
        machine.library.escaped(value, "stored", machine.site(target))
    elif isinstance(container, (AttributeDict, Namespace)):
        overwriting.overwrite_attributes(machine, container, machine.site(target))
        machine.library.escaped(value, "stored", machine.site(target))
    elif isinstance(container, Items) and isinstance(target.index, ir.Slice):
        sequences.clear(machine, container, machine.site(target))
    elif isinstance(container, Items) and container.items is not None:
        machine.spend_on(container)
        items = list(container.items)
        if isinstance(key, Constant) and isinstance(key.value, int) and -len(items) <= key.value < len(items):
            items[key.value] = value
            machine.state.write(container.state, "items", tuple(items))
        else:
            sequences.replace_one(machine, container, value)
    elif isinstance(container, Items):
        sequences.replace_one(machine, container, value)
        machine.library.escaped(value, "stored", machine.site(target))
    elif isinstance(container, Object) and container.cls and (found := container.cls.find("__setitem__")):
        machine.call(Bound(container, found[0]), Arguments((key, value)), machine.site(target))
    else:
        updated = machine.library.set_item(container, key, value, machine.site(target))
        if isinstance(target.value, ir.Name) and updated is not None:
            assign(machine, target.value, updated)
