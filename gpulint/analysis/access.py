"""Names, attributes, items: reading and writing them."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpulint.analysis import (
    builtin,
    counters,
    datasets,
    events,
    host,
    imports,
    mappings,
    members,
    picked,
    protocols,
    removed,
    rounds,
    runtime,
    symbols,
    tensors,
)
from gpulint.analysis.control import Halts
from gpulint.analysis.state import MISSING, alternatives, join
from gpulint.analysis.values import (
    NONE,
    Arguments,
    Bound,
    Constant,
    Dataset,
    Descriptor,
    DeviceList,
    External,
    Folder,
    Function,
    Imported,
    Items,
    Join,
    ListedDevice,
    Manager,
    Mapping,
    ModuleValue,
    Namespace,
    Object,
    Partial,
    PerReplica,
    Super,
    Tensor,
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

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

_BUILTINS = frozenset(dir(builtins))


def load(interp: Interpreter, name: str, node: ir.Node) -> Value:
    """The value of a name: local, enclosing, global, builtin."""
    frame = interp.frame
    scopes = (frame.declared[name],) if name in frame.declared else (frame.locals, *frame.closure, frame.module.globals)
    for scope in scopes:
        value = scope.get(name, MISSING)
        if value is not MISSING:
            if type(value) is Imported:
                value = imports.resolve(interp, value)
                interp.state.write(scope, name, value)
            return interp.choose(value)
    if name == "__name__":
        return Constant(frame.module.name)
    if name == "__package__":
        is_package = os.path.basename(frame.module.path) == "__init__.py"
        return Constant(frame.module.name if is_package else frame.module.name.rpartition(".")[0])
    if name == "__file__":
        return Unknown(("file", frame.module.path))
    if (starred := imports.from_star(interp, name)) is not None:
        return starred
    if name in _BUILTINS:
        return External(f"builtins.{name}")
    return Unknown(("name", frame.module.path, name))


def store(interp: Interpreter, name: str, value: Value) -> None:
    frame = interp.frame
    interp.state.write(frame.declared.get(name, frame.locals), name, named(value, name))


def enclosing(interp: Interpreter) -> tuple[dict[str, Value], ...]:
    """The scopes that a function defined here closes over."""
    frame = interp.frame
    if frame.locals is frame.module.globals:
        return ()
    if isinstance(frame.definition, ir.ClassDef):
        return frame.closure
    return (frame.locals, *frame.closure)


def defaults(interp: Interpreter, parameters: tuple[ir.Parameter, ...]) -> dict[str, Value]:
    """The values of parameter defaults, evaluated where the function is defined."""
    return {
        parameter.name: interp.choose(interp.evaluate(parameter.default))
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


def assign(interp: Interpreter, target: ir.Expr, value: Value) -> None:
    """Give a value to any kind of target."""
    if isinstance(target, ir.Name):
        _replaced(interp, interp.frame.locals.get(target.id), target)
        store(interp, target.id, value)
    elif isinstance(target, ir.Attribute):
        _assign_attribute(interp, target, value)
    elif isinstance(target, ir.Subscript):
        _assign_item(interp, target, value)
    elif isinstance(target, ir.Starred):
        assign(interp, target.value, Unknown(("rest", interp.site(target))))
    elif isinstance(target, ir.Sequence_):
        _unpack(interp, target, interp.choose(value))


def _replaced(interp: Interpreter, before: Any, target: ir.Expr) -> None:
    """Something else is put where a value was: in a loop, a container is given up so."""
    if interp.context.loops and isinstance(before, (Items, Mapping, Join)):
        for _, option in alternatives(before, interp.path):
            if isinstance(option, (Items, Mapping)):
                interp.emit(events.ContainerCleared(interp.site(target), interp.where(), option))


def _unpack(interp: Interpreter, target: ir.Sequence_, value: Value) -> None:
    count = len(target.elements)
    for index, element in enumerate(target.elements):
        if isinstance(value, Join):
            parts = [(path, _part(interp, option, index, count, element)) for path, option in value.alternatives]
            part = join(parts, ("item", symbol_of(value), index))
        else:
            part = _part(interp, value, index, count, element)
        assign(interp, element, part)


def _part(interp: Interpreter, value: Value, index: int, count: int, element: ir.Expr) -> Value:
    """The part of a value with `count` parts that goes to the target `element`."""
    if isinstance(value, Items):
        items = value.items
        if items is not None and len(items) == count:
            return items[index]
        if items is None and value.element is not None:
            return value.element
    elif isinstance(value, Tensor):
        return Tensor(
            interp.site(element),
            value.device,
            value.dtype,
            gradient=value.gradient,
            shape_of=value.shape_of,
            static=value.static,
            from_data=value.from_data,
            on_host=value.on_host,
        )
    elif isinstance(value, PerReplica):
        return PerReplica(value.site, value.strategy, Tensor(interp.site(element)))
    elif isinstance(value, DeviceList):
        return ListedDevice(value, index)
    elif datasets.is_several(value):
        return value
    return Unknown(("item", symbol_of(value), index))


def _assign_attribute(interp: Interpreter, target: ir.Attribute, value: Value) -> None:
    receiver = interp.choose(interp.evaluate(target.value))
    if isinstance(receiver, Object):
        members.stored(interp, receiver, target.name, value, interp.site(target))
        _replaced(interp, receiver.attributes.get(target.name), target)
        value = counters.kept(interp, receiver, target.name, named(value, target.name), interp.site(target))
        interp.state.write(receiver.attributes, target.name, value)
    elif isinstance(receiver, ModuleValue):
        interp.state.write(receiver.scope.globals, target.name, value)
    elif isinstance(receiver, UserClass):
        interp.state.write(receiver.namespace, target.name, value)
    else:
        members.escaped(interp, value, "stored", interp.site(target))


def _assign_item(interp: Interpreter, target: ir.Subscript, value: Value) -> None:
    container = interp.choose(interp.evaluate(target.value))
    key = interp.choose(interp.evaluate(target.index)) if not isinstance(target.index, ir.Slice) else NONE
    if isinstance(container, External) and container.name == "os.environ":
        runtime.environment_set(interp, key, value, interp.site(target))
    elif isinstance(container, Mapping):
        if isinstance(key, Constant) and isinstance(key.value, str):
            value = named(value, key.value)
        elif not mappings.is_known(key):
            builtin.kept(interp, container, value, interp.site(target))
        _replaced(interp, container.entries.get(mappings.key_of(key)), target)
        interp.state.write(container.entries, mappings.key_of(key), value)
        if not mappings.is_known(key):
            interp.state.write(container.state, "complete", False)
            members.escaped(interp, value, "stored", interp.site(target))
    elif isinstance(container, Items) and isinstance(target.index, ir.Slice):
        builtin.emptied(interp, container, interp.site(target))
    elif isinstance(container, Items) and container.items is not None:
        items = list(container.items)
        if isinstance(key, Constant) and isinstance(key.value, int) and -len(items) <= key.value < len(items):
            items[key.value] = value
            interp.state.write(container.state, "items", tuple(items))
        else:
            interp.state.write(container.state, "items", None)
            interp.state.write(container.state, "element", value if _is_gradient(value) else None)
    elif isinstance(container, Items) and _is_gradient(value):
        interp.state.write(container.state, "element", value)
    elif isinstance(container, Object) and container.cls and (found := container.cls.find("__setitem__")):
        interp.call(Bound(container, found[0]), Arguments((key, value)), interp.site(target))
    elif isinstance(container, PerReplica) and isinstance(target.value, ir.Name):
        # What `run` gave is a dict of such values, and no longer that.
        assign(interp, target.value, Unknown(("updated", symbol_of(container), symbol_of(value))))
    else:
        members.escaped(interp, value, "stored", interp.site(target))
        if host.is_array(container):
            tensors.read_at(interp, value, "numpy", interp.site(target))
        if isinstance(target.value, ir.Name) and (array := host.updated(container, value)) is not None:
            assign(interp, target.value, array)


def _is_gradient(value: Value) -> bool:
    """Whether a value is a gradient: a list of them gets one at each place in turn."""
    return isinstance(value, Tensor) and value.gradient is not None


def attribute(interp: Interpreter, receiver: Value, name: str, node: ir.Node) -> Value:
    """`receiver.name` of a value that is no join. Raises Halts for None, which has none."""
    if isinstance(receiver, Constant) and receiver.value is None:
        raise Halts
    if isinstance(receiver, External):
        dotted = f"{receiver.name}.{name}"
        removed.read(interp, dotted, receiver.package, interp.site(node))
        return External(canonical(dotted), receiver.package)
    if isinstance(receiver, ModuleValue):
        return imports.module_attribute(interp, receiver, name)
    if isinstance(receiver, Folder):
        return imports.folder_attribute(interp, receiver, name, interp.site(node))
    if isinstance(receiver, Object):
        return _object_attribute(interp, receiver, name, node)
    if isinstance(receiver, UserClass):
        return _class_attribute(receiver, name)
    if isinstance(receiver, Super):
        return _super_attribute(receiver, name)
    if isinstance(receiver, ListedDevice) and name == "name":
        if receiver.list.listing == "logical":
            return receiver
        return Text(("/physical_device:", None), ("attribute", receiver.symbol, name))
    if isinstance(receiver, Traced) and name in ("python_function", "_python_function"):
        return receiver.function
    if isinstance(receiver, Function) and name in ("__name__", "__qualname__"):
        return Constant(receiver.name)
    if isinstance(receiver, Partial) and name == "func":
        return receiver.function
    if isinstance(receiver, (Tensor, PerReplica)):
        return members.tensor_attribute(interp, receiver, name, node)
    if isinstance(receiver, (Constant, Text, Items, Mapping, Namespace, Dataset, Manager, Traced)):
        return Bound(receiver, name)
    if name == "optimizer" and (model := interp.models.get(symbol_of(receiver))) is not None:
        return _object_attribute(interp, model, name, node)
    applies = symbols.symbol(("attribute", symbol_of(receiver), "apply_gradients"))
    if name == "iterations" and (optimizer := interp.optimizers.get(applies)) is not None:
        return _object_attribute(interp, optimizer, name, node)
    return Unknown(("attribute", symbol_of(receiver), name))


def _object_attribute(interp: Interpreter, receiver: Object, name: str, node: ir.Node) -> Value:
    if name in receiver.attributes:
        return interp.choose(receiver.attributes[name])
    if receiver.cls is not None and (found := receiver.cls.find(name)):
        return bind(interp, found[0], receiver, node)
    if name == "__class__" and receiver.cls is not None:
        return receiver.cls
    return members.library_attribute(interp, receiver, name, node)


def bind(interp: Interpreter, value: Value, receiver: Value, node: ir.Node) -> Value:
    """What a class attribute is when it is read from an instance."""
    if isinstance(value, (Function, Traced)):
        return Bound(receiver, value)
    if isinstance(value, Descriptor):
        if value.kind == "property":
            return interp.call(Bound(receiver, value.function), Arguments(), interp.site(node))
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


def item(interp: Interpreter, container: Value, key: Value, node: ir.Node) -> Value:
    """`container[key]` of values that are no joins."""
    index = key.value if isinstance(key, Constant) else None
    if isinstance(container, Items):
        items = container.items
        if items is not None and isinstance(index, int) and -len(items) <= index < len(items):
            return interp.choose(items[index])
        if container.element is not None:
            return container.element
        if items and all(type(one) is type(items[0]) for one in items) and not isinstance(items[0], Constant):
            return items[0]
    elif isinstance(container, Mapping) and (entry := mappings.entry(interp, container, key)) is not None:
        return entry
    elif datasets.is_several(container):
        return container
    elif isinstance(container, Namespace):
        if (named_so := picked.of_namespace(interp, container, key)) is not None:
            return named_so
    elif isinstance(container, DeviceList) and (index is None or isinstance(index, int)):
        return ListedDevice(container, index)
    elif isinstance(container, Tensor):
        return Tensor(
            interp.site(node),
            container.device,
            container.dtype,
            gradient=container.gradient,
            shape_of=container.shape_of,
            static=container.static,
            from_data=container.from_data,
            on_host=container.on_host and container.dtype == "int32",
            single=adds_axis(key),
            rows=are_next_rows(key) or None,
        )
    elif isinstance(container, Constant) and isinstance(container.value, str) and isinstance(index, int):
        if -len(container.value) <= index < len(container.value):
            return Constant(container.value[index])
    elif isinstance(container, PerReplica):
        return PerReplica(container.site, container.strategy, Tensor(interp.site(node)))
    elif isinstance(container, External) and container.name == "os.environ":
        return runtime.environment_read(interp, key)
    elif isinstance(container, UserClass) or (isinstance(container, External) and _is_class(container.name)):
        return container  # a subscripted generic class
    elif (made := protocols.own(interp, container, "__getitem__", (key,), interp.site(node))) is not None:
        return made
    return Unknown(("item", symbol_of(container), symbol_of(key)))


def adds_axis(key: Value) -> bool:
    """Whether an index gives one row, and an axis for it: `x[None]`, `x[np.newaxis, …]`, `x[:1, :]`."""
    first = key.items[0] if isinstance(key, Items) and key.items else key
    if type(first) is Unknown and first.symbol.parts[0] == symbols.ROWS:
        return symbols.is_one_row(*first.symbol.parts[2:])
    if isinstance(first, External):
        return first.name.endswith(".newaxis")
    return isinstance(first, Constant) and first.value is None


def are_next_rows(key: Value) -> bool:
    """Whether an index gives the rows of the present round of a loop, among several: `x[i : i + 32, :]`."""
    first = key.items[0] if isinstance(key, Items) and key.items else key
    return type(first) is Unknown and first.symbol.parts[0] == symbols.ROWS and rounds.are_next(*first.symbol.parts[2:])


def sliced(interp: Interpreter, container: Value, bounds: tuple[Value, ...], node: ir.Node) -> Value:
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
            ("slice", interp.site(node)),
        )
    if isinstance(container, DeviceList):
        if exact and step is None and container.part is None:
            return DeviceList(container.listing, container.type, (lower, upper))
        return DeviceList(container.listing, container.type, (None, -1))
    if isinstance(container, Tensor):
        return Tensor(
            interp.site(node),
            container.device,
            container.dtype,
            shape_of=container.shape_of,
            static=container.static,
            from_data=container.from_data,
            on_host=container.on_host,
            single=symbols.is_one_row(*map(symbol_of, bounds)),
            rows=rounds.are_next(*map(symbol_of, bounds)) or None,
        )
    if isinstance(container, Constant) and isinstance(container.value, (str, bytes)) and exact and step != 0:
        return Constant(container.value[lower:upper:step])
    return Unknown(("slice", symbol_of(container), *(symbol_of(bound) for bound in bounds)))
