"""Python's builtins, and the methods of strings, lists and dicts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gpulint.analysis import datasets, events, gradients, host, mappings, members, picked, protocols, removed, tensors
from gpulint.analysis.contexts import Loop
from gpulint.analysis.nesting import gone_over
from gpulint.analysis.paths import Condition
from gpulint.analysis.state import alternatives
from gpulint.analysis.truth import either, length_symbol
from gpulint.analysis.values import (
    FALSE,
    NONE,
    TRUE,
    Arguments,
    Constant,
    Dataset,
    Descriptor,
    DeviceList,
    External,
    Items,
    Join,
    Layer,
    ListedDevice,
    Mapping,
    Metric,
    Model,
    ModuleValue,
    Namespace,
    Object,
    Optimizer,
    PerReplica,
    Super,
    Tensor,
    Text,
    Unknown,
    UserClass,
    Value,
    named,
    symbol_of,
)
from gpulint.knowledge import LEGACY_OPTIMIZERS, fact
from gpulint.knowledge.facts import Kind
from gpulint.places import Site
from gpulint.syntax import ir

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

MAX_ITEMS = 256
"""Longest sequence that is kept element by element."""

MAX_STRING = 10_000
"""Longest string that is kept as it is."""

MAX_SPLITS = 2
"""Arguments of one builtin call whose alternatives are tried one by one."""


def call(interp: Interpreter, name: str, arguments: Arguments, site: Site, splits: int = 0) -> Value:
    """A call of the builtin `name`."""
    if handler := _FUNCTIONS.get(name):
        values = [interp.choose(value) for value in arguments.positional]
        joined = next((position for position, value in enumerate(values) if isinstance(value, Join)), None)
        if joined is not None and splits < MAX_SPLITS:
            at = joined
            return interp.each(
                values[at], lambda option: call(interp, name, _with(arguments, at, option), site, splits + 1), site
            )
        if name in _ITERATES:
            values = [protocols.iterated(interp, value, site) for value in values]
        return handler(interp, values, arguments, site)
    if name not in ("isinstance", "issubclass", "id", "type", "callable", "hasattr", "repr", "vars", "dir"):
        for value in arguments.all():
            members.escaped(interp, value, "passed", site)
    return _unknown(name, arguments)


def _with(arguments: Arguments, position: int, value: Value) -> Arguments:
    """The arguments with another value at a position."""
    positional = arguments.positional
    return arguments._replace(positional=(*positional[:position], value, *positional[position + 1 :]))


def _unknown(name: str, arguments: Arguments) -> Value:
    return Unknown(("call", name, tuple(symbol_of(value) for value in arguments.all())))


# ---------------------------------------------------------------------------- functions


def _len(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    def length(value: Value) -> Value:
        if isinstance(value, Items) and value.items is not None:
            return Constant(len(value.items))
        if isinstance(value, Constant) and isinstance(value.value, (str, bytes)):
            return Constant(len(value.value))
        if isinstance(value, Mapping) and value.state["complete"]:
            return Constant(len(value.entries))
        return Unknown(length_symbol(value))

    return interp.each(values[0], length, site) if values else _unknown("len", arguments)


def _print(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    for value in values:
        tensors.read_at(interp, value, "print", site)
    return NONE


def _convert(kind: str) -> Callable[..., Value]:
    convert: Any = {"int": int, "float": float, "bool": bool, "str": str}[kind]

    def run(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
        if len(values) == 1 and isinstance(values[0], Constant):
            try:
                return Constant(convert(values[0].value), site, values[0].named)
            except (TypeError, ValueError, OverflowError):
                pass
        if values and kind in ("int", "float"):
            values = [tensors.as_number(values[0]), *values[1:]]
        if values:
            tensors.read_at(interp, values[0], "format" if kind == "str" else kind, site)
            if kind == "str":
                parts: tuple[str | None, ...] = (None,)
                return Text(parts, ("str", symbol_of(values[0])))
            if kind == "bool":
                return either(Condition("truth", symbol_of(values[0])))
            if isinstance(values[0], Tensor) and values[0].static:
                return Unknown((kind, symbol_of(values[0])))
            if isinstance(values[0], Tensor) and not values[0].from_data:
                return host.fetched(site, kind)
            if isinstance(values[0], (Unknown, Text, External)):
                return Unknown((kind, symbol_of(values[0])))
        return Unknown((kind, site))

    return run


def _range(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    name = ("range", tuple(symbol_of(value) for value in values))
    bounds = [value.value for value in values if isinstance(value, Constant) and isinstance(value.value, int)]
    if len(bounds) == len(values) and 0 < len(bounds) < 4 and (len(bounds) < 3 or bounds[2] != 0):
        numbers = range(*bounds)
        if not numbers[MAX_ITEMS:]:  # the length of a long one is no C integer
            return Items("range", tuple(Constant(number) for number in numbers), None, name)
    return Items("range", None, None, name)


def elements(interp: Interpreter, value: Value, site: Site) -> tuple[tuple[Value, ...] | None, Value | None]:
    """(all elements if known, else None; one that stands for all if known)."""
    if isinstance(value, Items):
        items = value.items
        element = value.element
        if element is None and items and all(type(item) is type(items[0]) for item in items):
            element = items[0] if len(items) == 1 or not isinstance(items[0], Constant) else None
        return items, element
    if isinstance(value, Dataset):
        return None, tensors.element_of(interp, value, ir.Pass(site.node))
    if isinstance(value, DeviceList):
        return None, ListedDevice(value, None)
    if isinstance(value, Mapping) and value.state["complete"]:
        return tuple(Constant(key) for key in value.entries), None
    if isinstance(value, (Tensor, PerReplica)):
        return None, value
    if isinstance(value, Object):
        return None, protocols.following(interp, value, site, None)
    return None, gradients.element(value) if isinstance(value, Join) else None


def _copy(kind: str) -> Callable[..., Value]:
    def run(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
        if values and isinstance(values[0], DeviceList):
            return values[0]
        if values:
            items, element = elements(interp, values[0], site)
            made = Items(kind, items, element, (kind, symbol_of(values[0])), data_in(values[:1]))
        else:
            made = Items(kind, (), None, (kind, site))
        made.around = interp.context.loops
        return made

    return run


def _dict(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    given = values[0] if values else None
    entries = dict(given.entries) if isinstance(given, Mapping) else {}
    entries |= {name: named(value, name) for name, value in arguments.keywords.items()}
    complete = given is None or (isinstance(given, Mapping) and given.state["complete"])
    made = Mapping(entries, complete and not arguments.open, ("dict", site))
    made.around = interp.context.loops
    return made


def _enumerate(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if not values:
        return _unknown("enumerate", arguments)
    items, element = elements(interp, values[0], site)
    if items is not None:
        return Items("list", tuple(Items("tuple", (Constant(i), item)) for i, item in enumerate(items)))
    index = Unknown(("index", symbol_of(values[0]), site))
    if isinstance(values[0], DeviceList):
        return Items(
            "list",
            None,
            Items("tuple", (index, ListedDevice(values[0], None))),
            ("enumerate", symbol_of(values[0])),
        )
    part = element or Unknown(("item", symbol_of(values[0]), site))
    row = Items("tuple", (index, part))
    return Items("list", None, row, ("enumerate", symbol_of(values[0])), (values[0],))


def _zip(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    columns = [elements(interp, value, site) for value in values]
    exact = [items for items, _ in columns]
    known = [items for items in exact if items is not None]
    if values and len(known) == len(exact) and len({len(items) for items in known}) == 1:
        return Items("list", tuple(Items("tuple", row) for row in zip(*known, strict=True)))
    row = tuple(
        element or Unknown(("item", symbol_of(value), site))
        for value, (_, element) in zip(values, columns, strict=True)
    )
    return Items("list", None, Items("tuple", row), ("zip", site), tuple(values))


def _map(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if len(values) < 2:
        return _unknown("map", arguments)
    rows, row = elements(interp, _zip(interp, values[1:], arguments, site), site)
    given = rows if rows is not None and len(rows) <= 8 else (row,)
    made = tuple(
        interp.choose(interp.call(values[0], Arguments(one.items or ()), site))
        for one in given
        if isinstance(one, Items)
    )
    if given is rows:
        return Items("list", made)
    return Items("list", None, made[0] if made else None, ("map", site), data_in(values[1:]))


def _ordered(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if not values:
        return _unknown("sorted", arguments)
    _, element = elements(interp, values[0], site)
    return Items("list", None, element, ("sorted", symbol_of(values[0])), data_in(values[:1]))


def _sorted(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    made = _ordered(interp, values, arguments, site)
    if isinstance(made, Items) and made.over:
        made.around = interp.context.loops
    return made


def data_in(values: Iterable[Value]) -> tuple[Value, ...]:
    """Those of some values that go over a dataset."""
    return tuple(value for value in values if any(isinstance(one, Dataset) for one in gone_over(value)))


def _sum(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if values:
        items, element = elements(interp, values[0], site)
        first = element or (items[0] if items else None)
        if first is not values[0] and first is not None:
            tensors.read_at(interp, first, "arithmetic", site)
        if isinstance(first, Tensor):
            given = items or (first,)
            return Tensor(site, reduced=tensors.sum_of(given), gradient=gradients.by_op("tensorflow.add_n", given))
        if items and all(isinstance(item, Constant) and isinstance(item.value, int) for item in items):
            return Constant(sum(item.value for item in items if isinstance(item, Constant)), site)  # type: ignore[misc]
    return _unknown("sum", arguments)


def _next(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if not values:
        return _unknown("next", arguments)
    datasets.consumed(interp, values[0], "next", site, None)
    items, element = elements(interp, values[0], site)
    return element or (items[0] if items else Unknown(("next", symbol_of(values[0]), site)))


def _iter(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    return values[0] if values else _unknown("iter", arguments)


def _number(name: str) -> Callable[..., Value]:
    def run(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
        for value in values[:1]:
            tensors.read_at(interp, value, "arithmetic", site)
        return _unknown(name, arguments)

    return run


def _extreme(name: str) -> Callable[..., Value]:
    def run(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
        if len(values) > 1:
            for value in values:
                tensors.read_at(interp, value, "compare", site)
        numbers = [v.value for v in values if isinstance(v, Constant) and isinstance(v.value, (int, float))]
        if len(numbers) == len(values) > 1:
            named = tuple(word for v in values if isinstance(v, Constant) for word in v.named)
            return Constant(max(numbers) if name == "max" else min(numbers), site, named)
        return _unknown(name, arguments)

    return run


def _getattr(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    from gpulint.analysis import access

    if len(values) >= 2 and isinstance(values[1], Constant) and isinstance(values[1].value, str):
        name = values[1].value
        default = values[2] if len(values) > 2 else None

        def read(option: Value) -> Value:
            if (
                default is not None
                and isinstance(option, External)
                and removed.is_gone(interp, f"{option.name}.{name}", option.package)
            ):
                return default
            return access.attribute(interp, option, name, ir.Pass(site.node))

        return interp.each(values[0], read, site)
    if len(values) >= 2 and isinstance(values[0], External) and values[0].name in _ALIKE:
        return External(_ALIKE[values[0].name], values[0].package)
    found: Value | None = None
    if len(values) == 2 and isinstance(values[0], ModuleValue):
        found = picked.of_module(interp, values[0].scope, values[1])
    elif len(values) == 2 and isinstance(values[0], Object):
        owner = values[0]
        found = picked.of_object(
            interp, owner, values[1], lambda name: access.attribute(interp, owner, name, ir.Pass(site.node))
        )
    return found or _unknown("getattr", arguments)


def _names(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    """`globals()`, `vars()`, `vars(module)`."""
    if not values:
        return Namespace(interp.frame.module)
    return Namespace(values[0].scope) if isinstance(values[0], ModuleValue) else _unknown("vars", arguments)


def _eval(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    from gpulint.analysis import access

    if not values:
        return _unknown("eval", arguments)
    found = picked.evaluated(interp, values[0], lambda name: access.load(interp, name, ir.Pass(site.node)))
    return found or _unknown("eval", arguments)


_ALIKE = {
    "tensorflow.keras.applications": "tensorflow.keras.applications.ResNet50",
    "tensorflow.keras.optimizers": "tensorflow.keras.optimizers.Optimizer",
}
"""Modules → a name that stands for any of theirs: those that programs choose by an option are all of one kind."""


def _setattr(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if len(values) == 3 and isinstance(values[0], Object) and isinstance(values[1], Constant):
        interp.state.write(values[0].attributes, str(values[1].value), values[2])
    return NONE


_CONTAINERS = frozenset({"builtins.dict", "builtins.list", "builtins.tuple", "builtins.set"})


def _isinstance(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if len(values) == 2:
        value, kind = values
        if isinstance(kind, External) and isinstance(value, Constant) and kind.name.startswith("builtins."):
            known: Any = {"int": int, "str": str, "float": float, "bool": bool}.get(kind.name[9:])
            if known is not None:
                return TRUE if isinstance(value.value, known) else FALSE
        if isinstance(kind, External) and isinstance(value, (Items, Mapping)) and kind.name in _CONTAINERS:
            own = "dict" if isinstance(value, Mapping) else value.kind
            return TRUE if own == kind.name[9:] else FALSE
        if isinstance(kind, Items) and kind.items:
            found = [_is_instance(value, one) for one in kind.items]
            certain = True if True in found else None if None in found else False
        else:
            certain = _is_instance(value, kind)
        if certain is not None:
            return TRUE if certain else FALSE
        return either(Condition("isinstance", symbol_of(value), symbol_of(kind)))
    return _unknown("isinstance", arguments)


def _is_instance(value: Value, kind: Value) -> bool | None:
    """Whether an object is of a class; None where that is not known."""
    if not isinstance(value, Object):
        return None
    if isinstance(kind, UserClass):
        if value.cls is not None:
            return True if kind in value.cls.classes else None if value.cls.is_open else False
        return False if _is_exact(value.library) else None
    if isinstance(kind, External) and value.library and not value.library.startswith(LEGACY_OPTIMIZERS):
        is_base = kind.name in _BASES and isinstance(value, _BASES[kind.name])
        return True if is_base or value.library == kind.name else None
    return None


def _is_exact(library: str) -> bool:
    """Whether an object of a library class that the program was seen to make is of that class and of no other."""
    known = fact(library)
    return known is not None and known.kind in _CLASSES and library not in _BASES


_CLASSES = frozenset({Kind.LAYER, Kind.METRIC, Kind.MODEL, Kind.OPTIMIZER, Kind.STRATEGY})


_BASES: dict[str, type[Object]] = {
    "tensorflow.keras.Layer": Layer,
    "tensorflow.keras.Metric": Metric,
    "tensorflow.keras.Model": Model,
    "tensorflow.keras.Optimizer": Optimizer,
    "tensorflow.keras.layers.Layer": Layer,
    "tensorflow.keras.metrics.Metric": Metric,
    "tensorflow.keras.optimizers.Optimizer": Optimizer,
}
"""Classes of the library of which others are derived, in the program perhaps, and what stands for their objects."""


def _type(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if len(values) == 1:
        value = values[0]
        if isinstance(value, Object) and value.cls is not None:
            return value.cls
        name = (
            "dict"
            if isinstance(value, Mapping)
            else value.kind
            if isinstance(value, Items)
            else type(value.value).__name__
            if isinstance(value, Constant)
            else ""
        )
        if f"builtins.{name}" in _CONTAINERS or name in ("bool", "float", "int", "str"):
            return External(f"builtins.{name}")
    return _unknown("type", arguments)


def _super(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    frame = interp.frame
    receiver = values[1] if len(values) == 2 else frame.receiver
    if len(values) == 2 and isinstance(values[0], UserClass) and receiver is not None:
        return Super(values[0], receiver)
    owner = interp.owner_of(frame)
    if owner is not None and receiver is not None:
        return Super(owner, receiver)
    return Unknown(("super", site))


def _any(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    return either(Condition("truth", ("any", symbol_of(values[0]) if values else site)))


def _property(interp: Interpreter, values: list[Value], arguments: Arguments, site: Site) -> Value:
    return Descriptor("property", values[0]) if values else _unknown("property", arguments)


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "len": _len,
    "print": _print,
    "int": _convert("int"),
    "float": _convert("float"),
    "bool": _convert("bool"),
    "str": _convert("str"),
    "range": _range,
    "list": _copy("list"),
    "tuple": _copy("tuple"),
    "set": _copy("set"),
    "dict": _dict,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    "sorted": _sorted,
    "reversed": _ordered,
    "filter": lambda interp, values, arguments, site: _ordered(interp, values[1:], arguments, site),
    "sum": _sum,
    "round": _number("round"),
    "abs": _number("abs"),
    "next": _next,
    "iter": _iter,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "getattr": _getattr,
    "globals": _names,
    "vars": _names,
    "eval": _eval,
    "setattr": _setattr,
    "isinstance": _isinstance,
    "type": _type,
    "super": _super,
    "any": _any,
    "property": _property,
}


_ITERATES = frozenset({"list", "tuple", "set", "enumerate", "zip", "map", "sorted", "filter", "sum", "iter"})
"""Builtins that go over what they are given."""


# ------------------------------------------------------------------------------ methods


def method(interp: Interpreter, receiver: Value, name: str, arguments: Arguments, site: Site) -> Value:
    """A method of a string, list, tuple, set, dict, range or generator."""
    if isinstance(receiver, Items):
        return _of_items(interp, receiver, name, arguments, site)
    if isinstance(receiver, Mapping):
        return mappings.method(interp, receiver, name, arguments, site)
    if isinstance(receiver, Namespace) and name == "get" and (key := arguments.get("", 0)) is not None:
        if (found := picked.of_namespace(interp, receiver, key)) is not None:
            return found
    if name == "format":
        template = receiver.value if isinstance(receiver, Constant) else None
        for value in arguments.all():
            tensors.read_at(interp, value, "format", site)
        if isinstance(template, str) and len(template) <= MAX_STRING:
            return _formatted(template, arguments, site)
    if isinstance(receiver, Constant) and isinstance(receiver.value, str):
        return _of_string(interp, receiver, name, arguments, site)
    return Unknown(("call", ("attribute", symbol_of(receiver), name), tuple(symbol_of(v) for v in arguments.all())))


_FIELD = re.compile(r"\{([^{}:!]*)(?:[:!][^{}]*)?\}")


def _formatted(template: str, arguments: Arguments, site: Site) -> Value:
    parts: list[str | None] = []
    position, last = 0, 0
    for match in _FIELD.finditer(template):
        parts.append(template[last : match.start()])
        last = match.end()
        field = match[1]
        index = int(field) if field.isdigit() else position if field == "" else None
        position += field == ""
        value = arguments.get(field, index)
        parts.append(written(value))
    parts.append(template[last:])
    return _joined(parts, site, arguments.all(), tuple(symbol_of(value) for value in arguments.all()))


def written(value: Value | None) -> str | None:
    """`str(value)` where it is known."""
    if not isinstance(value, Constant):
        return None
    try:
        return str(value.value)
    except ValueError:  # an integer of more digits than Python converts
        return None


def format_percent(interp: Interpreter, template: str, value: Value, node: ir.Node) -> Value:
    """`template % value`."""
    if len(template) > MAX_STRING:
        return Unknown(("binary", "%", symbol_of(value)))
    values = list(value.items) if isinstance(value, Items) and value.items is not None else [value]
    parts: list[str | None] = []
    last = 0
    for number, match in enumerate(re.finditer(r"%[-+ #0]*(?:[1-9]\d*)?(?:\.\d+)?[a-zA-Z]", template)):
        parts.append(template[last : match.start()])
        last = match.end()
        given = values[number] if number < len(values) else None
        if given is not None:
            tensors.read(interp, given, "format", node)
        parts.append(written(given) if given is not None else None)
    parts.append(template[last:])
    return _joined(parts, interp.site(node), values, symbol_of(value))


def names_of(values: Iterable[Value]) -> tuple[str, ...]:
    """The variables that the parts of a string went through."""
    return tuple(name for value in values if isinstance(value, Constant) for name in value.named)[:8]


def string(parts: Iterable[str | None], site: Site, named: tuple[str, ...] = ()) -> Value:
    """The string of these parts, unless it is too long."""
    pieces = [part for part in parts if part]
    if sum(map(len, pieces)) > MAX_STRING:
        return Unknown(("string", site))
    return Constant("".join(pieces), site, named)


def _joined(parts: Sequence[str | None], site: Site, values: Iterable[Value], symbol: Any) -> Value:
    if None not in parts:
        return string(parts, site, names_of(values))
    return Text(tuple(parts), ("text", tuple(parts), symbol))


def _of_string(interp: Interpreter, receiver: Constant, name: str, arguments: Arguments, site: Site) -> Value:
    text: Any = receiver.value
    given = [value.value for value in arguments.positional if isinstance(value, Constant)]
    if len(given) == len(arguments.positional) and not arguments.keywords and not arguments.open:
        if name in (
            "lower",
            "upper",
            "strip",
            "lstrip",
            "rstrip",
            "replace",
            "startswith",
            "endswith",
            "split",
            "title",
        ):
            if sum(len(one) for one in (text, *given) if isinstance(one, str)) > MAX_STRING:
                return Unknown(("string", site))
            try:
                result = getattr(text, name)(*given)
            except (TypeError, ValueError):
                return Unknown(("string", site))
            if isinstance(result, list):
                return Items("list", tuple(Constant(part) for part in result))
            return (
                string([result], site, receiver.named)
                if isinstance(result, str)
                else Constant(result, site, receiver.named)
            )
    if name == "join" and arguments.positional:
        joined = arguments.positional[0]
        pieces = [written(item) for item in joined.items or ()] if isinstance(joined, Items) else [None]
        if None not in pieces and isinstance(joined, Items) and joined.items is not None:
            whole = text.join(piece or "" for piece in pieces)
            return string([whole], site, names_of((receiver, *joined.items)))
    return Unknown(("call", ("attribute", symbol_of(receiver), name), tuple(symbol_of(v) for v in arguments.all())))


MAX_HELD = 3
"""How many objects of the program's own classes may hold each other around a model that is kept with them."""


def kept(interp: Interpreter, container: Items | Mapping, value: Value, site: Site) -> None:
    """A value goes into a container: a tensor that goes into one from outside the loops stays in memory."""
    if not interp.context.loops or interp.context.traced is not None:
        return
    parts = value.items if isinstance(value, Items) and value.items is not None else (value,)
    for part in parts:
        options = [option for _, option in alternatives(part, interp.path)]
        tensors_kept = [one for one in options if isinstance(one, Tensor) and _fills_memory(one)]
        if len(tensors_kept) == len(options):
            interp.emit(events.TensorKept(site, interp.where(), container, tensors_kept[0]))
        else:
            models_kept(interp, part, site)


def _fills_memory(tensor: Tensor) -> bool:
    """Whether a tensor is in the memory of a device."""
    return not (tensor.shape_of or tensor.from_data or tensor.on_host)


def models_kept(interp: Interpreter, value: Value, site: Site, depth: int = MAX_HELD) -> None:
    """A value goes into a container: the models that it is or has stay in memory on purpose."""
    if isinstance(value, Model):
        interp.emit(events.ModelKept(site, interp.where(), value))
    if isinstance(value, Object) and depth:
        for held in value.attributes.values():
            if isinstance(held, Object):
                models_kept(interp, held, site, depth - 1 if held.cls is not None else 0)


def emptied(interp: Interpreter, receiver: Items, site: Site) -> None:
    """A list loses its elements, or some of them."""
    interp.emit(events.ContainerCleared(site, interp.where(), receiver))
    interp.state.write(receiver.state, "items", None if receiver.items else receiver.items)
    interp.state.write(receiver.state, "element", None)


def extend(interp: Interpreter, receiver: Items, value: Value, site: Site) -> None:
    """Add the elements of a value to a list."""
    kept(interp, receiver, value, site)
    items, element = elements(interp, value, site)
    present = receiver.items
    fits = items is not None and present is not None and len(present) + len(items) <= MAX_ITEMS
    if fits and not _comes_again(interp, receiver):
        interp.state.write(receiver.state, "items", (*(present or ()), *(items or ())))
        return
    _blur(interp, receiver, element or (items[0] if items else None))


def _comes_again(interp: Interpreter, receiver: Items) -> bool:
    """Whether the present place is in a loop of which nobody knows the rounds, and the list is from outside."""
    return any(not loop.unrolled for loop in loops_since(receiver.around or (), interp.context.loops))


def grown(interp: Interpreter, value: Value, site: Site) -> None:
    """A list becomes `itself + more`: it holds what that adds, as if it were appended."""
    for _, option in alternatives(value, interp.path):
        if isinstance(option, Items) and option.joined is not None:
            before, more = option.joined
            option.around = before.around
            kept(interp, option, more, site)
            if _comes_again(interp, option):
                _blur(interp, option, more.element or (more.items[0] if more.items else None))


def _append(interp: Interpreter, receiver: Items, value: Value, site: Site) -> None:
    kept(interp, receiver, value, site)
    present = receiver.items
    if present is not None and len(present) < MAX_ITEMS and not _comes_again(interp, receiver):
        interp.state.write(receiver.state, "items", (*present, value))
    else:
        _blur(interp, receiver, value)


def loops_since(before: tuple[Loop, ...], present: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """The loops that were entered, or came to another round, since those were the present ones."""
    same = 0
    for one, other in zip(before, present, strict=False):
        if (one.entry, one.turn) != (other.entry, other.turn):
            break
        same += 1
    return present[same:]


def _blur(interp: Interpreter, receiver: Items, value: Value | None) -> None:
    """From now on the list holds an unknown number of elements, each like `value` if they are of one kind."""
    before = receiver.element if receiver.items is None else (receiver.items[0] if receiver.items else value)
    alike = before is not None and value is not None and type(before) is type(value)
    empty = receiver.items == () or (receiver.items is None and before is None)
    interp.state.write(receiver.state, "items", None)
    interp.state.write(receiver.state, "element", value if alike or empty else None)


def _of_items(interp: Interpreter, receiver: Items, name: str, arguments: Arguments, site: Site) -> Value:
    value = arguments.get("", 0)
    if name in ("append", "add", "appendleft") and value is not None:
        _append(interp, receiver, interp.choose(value), site)
        return NONE
    if name == "insert" and len(arguments.positional) == 2:
        _append(interp, receiver, interp.choose(arguments.positional[1]), site)
        return NONE
    if name in ("extend", "update") and value is not None:
        extend(interp, receiver, interp.choose(value), site)
        return NONE
    if name == "clear":
        emptied(interp, receiver, site)
        interp.state.write(receiver.state, "items", ())
        return NONE
    if name in ("pop", "popleft"):
        interp.emit(events.ContainerCleared(site, interp.where(), receiver))
        items = receiver.items
        popped = items[-1] if items else receiver.element
        if items:
            interp.state.write(receiver.state, "items", items[:-1])
        return popped or Unknown(("pop", site))
    if name == "copy":
        return Items(receiver.kind, receiver.items, receiver.element, receiver.symbol)
    if name in ("sort", "reverse", "remove", "discard"):
        if receiver.items is not None:
            _blur(interp, receiver, receiver.items[0] if receiver.items else None)
        return NONE
    return Unknown(("call", ("attribute", symbol_of(receiver), name), tuple(symbol_of(v) for v in arguments.all())))


def concatenate(left: Items, right: Items) -> Items:
    """`left + right` of two sequences."""
    name = ("+", symbol_of(left), symbol_of(right))
    if left.items is not None and right.items is not None and len(left.items) + len(right.items) <= MAX_ITEMS:
        made = Items(left.kind, left.items + right.items, None, name)
    else:
        made = Items(left.kind, None, left.element or (left.items[0] if left.items else None), name)
    made.joined = left, right
    return made


def repeat(left: Items, count: object) -> Items:
    """`left * count`."""
    if left.items is not None and isinstance(count, int) and 0 <= len(left.items) * count <= MAX_ITEMS:
        return Items(left.kind, left.items * count, None, ("*", symbol_of(left), count))
    return Items(left.kind, None, left.items[0] if left.items else left.element, ("*", symbol_of(left)))
