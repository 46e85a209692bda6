"""Built-in functions, and methods of built-in types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.lengths import most_items
from gpulint.analysis.domain.path_conditions import Condition
from gpulint.analysis.domain.traversal import dataset_iterables
from gpulint.analysis.domain.truth import either, length_symbol
from gpulint.analysis.domain.values.base import (
    FALSE,
    NONE,
    TRUE,
    Arguments,
    Constant,
    LibraryName,
    PartialString,
    Union,
    Unknown,
    Value,
    symbol_of,
)
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import Descriptor, ModuleValue, Namespace, Super, UserClass
from gpulint.analysis.domain.values.instances import AttributeDict
from gpulint.analysis.engine import (
    attribute_lookup,
    dicts,
    dynamic_lookup,
    name_lookup,
    overwriting,
    sequences,
    special_methods,
)
from gpulint.analysis.engine.budget import ELEMENTS_PER_STEP
from gpulint.analysis.engine.iteration import MAX_UNROLL, elements
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.engine.strings import MAX_STRING, formatted, is_small, of_string
from gpulint.places import Site
from gpulint.syntax import ir

MAX_SPLITS = 2
"""Maximum number of arguments of one built-in call whose alternatives are evaluated separately."""


def call_builtin(machine: Machine, name: str, arguments: Arguments, site: Site, splits: int = 0) -> Value:
    """Result of calling the built-in function `name`."""
    if handler := _FUNCTIONS.get(name):
        values = [machine.choose(value) for value in arguments.positional]
        joined = next((position for position, value in enumerate(values) if isinstance(value, Union)), None)
        if joined is not None and splits < MAX_SPLITS:
            at = joined
            return machine.each(
                values[at],
                lambda option: call_builtin(machine, name, _with(arguments, at, option), site, splits + 1),
                site,
            )
        if name not in _LOOKS_AT_NONE:
            for value in values:
                machine.spend_on(value)
        if name in _ITERATES:
            values = [special_methods.iter_of(machine, value, site) for value in values]
        return handler(machine, values, arguments, site)
    if name not in ("isinstance", "issubclass", "id", "type", "callable", "hasattr", "repr", "vars", "dir"):
        for value in arguments.all():
            machine.library.escaped(value, "passed", site)
    return _unknown(name, arguments)


def _with(arguments: Arguments, position: int, value: Value) -> Arguments:
    """The arguments with one positional argument replaced."""
    positional = arguments.positional
    return arguments._replace(positional=(*positional[:position], value, *positional[position + 1 :]))


def _unknown(name: str, arguments: Arguments) -> Value:
    return Unknown(("call", name, tuple(symbol_of(value) for value in arguments.all())))


def _len(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    def length(value: Value) -> Value:
        if isinstance(value, Items) and value.items is not None and value.kind != "set":
            return Constant(len(value.items))
        if isinstance(value, Items) and value.items is not None:
            machine.spend_on(value)
            distinct = {item.value for item in value.items if isinstance(item, Constant)}
            if len(value.items) < 2 or all(isinstance(item, Constant) for item in value.items):
                return Constant(len(distinct) or len(value.items))
        if isinstance(value, Constant) and isinstance(value.value, (str, bytes)):
            return Constant(len(value.value))
        if isinstance(value, Mapping) and value.is_complete:
            return Constant(len(value.entries))
        return Unknown(length_symbol(value))

    return machine.each(values[0], length, site) if values else _unknown("len", arguments)


def _print(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    for value in values:
        machine.library.value_read(value, "print", site)
    return NONE


def _convert(kind: str) -> Callable[..., Value]:
    convert: Any = {"int": int, "float": float, "bool": bool, "str": str}[kind]

    def run(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
        if len(values) == 1 and isinstance(values[0], Constant) and is_small(values[0].value):
            try:
                return Constant(convert(values[0].value), site, values[0].named)
            except (TypeError, ValueError, OverflowError):
                pass
        if values and kind in ("int", "float"):
            if (number := machine.library.convert(kind, values[0], site)) is not None:
                return number
            if isinstance(values[0], (Unknown, PartialString, LibraryName)):
                return Unknown((kind, symbol_of(values[0])))
        elif values:
            machine.library.value_read(values[0], "format" if kind == "str" else kind, site)
            if kind == "str":
                parts: tuple[str | None, ...] = (None,)
                return PartialString(parts, ("str", symbol_of(values[0])))
            return either(Condition("truth", symbol_of(values[0])))
        return Unknown((kind, site))

    return run


def _range(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    named = tuple(word for value in values if isinstance(value, Constant) for word in value.named)
    name = ("range", tuple(symbol_of(value) for value in values), named)
    bounds = [value.value for value in values if isinstance(value, Constant) and isinstance(value.value, int)]
    if len(bounds) == len(values) and 0 < len(bounds) < 4 and (len(bounds) < 3 or bounds[2] != 0):
        numbers = range(*bounds)
        if not numbers[sequences.MAX_ITEMS :]:  # `len()` of a huge range overflows a C integer
            return Items("range", tuple(Constant(number) for number in numbers), None, name)
    return Items("range", None, None, name)


def _copy(kind: str) -> Callable[..., Value]:
    def run(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
        if values and values[0].is_its_copy:
            return values[0]
        if values:
            items, element = elements(machine, values[0], site)
            made = Items(kind, items, element, (kind, symbol_of(values[0])), dataset_iterables(values[:1]))
            made.most = most_items(values[0])
        else:
            made = Items(kind, (), None, (kind, site))
        made.around = machine.context.loops
        return made

    return run


def _dict(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    given = values[0] if values else None
    entries = dict(given.entries) if isinstance(given, Mapping) else {}
    entries |= {name: value.renamed(name) for name, value in arguments.keywords.items()}
    complete = given is None or (isinstance(given, Mapping) and given.is_complete)
    source = symbol_of(given) if type(given) is Unknown and not entries else site
    made = Mapping(entries, complete and not arguments.open, ("dict", source))
    made.around = machine.context.loops
    return made


def _enumerate(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if not values:
        return _unknown("enumerate", arguments)
    items, element = elements(machine, values[0], site)
    start = arguments.get("start", 1)
    first = 0 if start is None else start.value if isinstance(start, Constant) else None
    if items is not None and isinstance(first, int):
        return Items("list", tuple(Items("tuple", (Constant(i), item)) for i, item in enumerate(items, first)))
    index = Unknown(("index", symbol_of(values[0]), site))
    part = element or Unknown(("item", symbol_of(values[0]), site))
    row = Items("tuple", (index, part))
    over = () if values[0].is_its_copy else (values[0],)
    return Items("list", None, row, ("enumerate", symbol_of(values[0])), over)


def _zip(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if arguments.open:
        return _transposed(machine, arguments, site) if not values else _unknown("zip", arguments)
    if not values:
        return Items("list", ())
    columns = [elements(machine, value, site) for value in values]
    exact = [items for items, _ in columns]
    known = [items for items in exact if items is not None]
    if values and len(known) == len(exact) and len({len(items) for items in known}) == 1:
        return Items("list", tuple(Items("tuple", row) for row in zip(*known, strict=True)))
    row = tuple(
        element or Unknown(("item", symbol_of(value), site))
        for value, (_, element) in zip(values, columns, strict=True)
    )
    return Items("list", None, Items("tuple", row), ("zip", site), tuple(values))


def _transposed(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Columns of something of unknown length, from `zip(*rows)`."""
    rows = arguments.spread
    if isinstance(rows, Items) and rows.items is not None:
        return _zip(machine, list(rows.items), Arguments(rows.items), site)
    if not isinstance(rows, Items) or not isinstance(rows.element, Items):
        return Unknown(("call", "zip", (symbol_of(rows),))) if rows is not None else _unknown("zip", arguments)
    items, element = elements(machine, rows.element, site)
    if items is None:
        column = Items("tuple", None, element, ("zip", site, symbol_of(rows)))
        return Items("list", None, column, ("zip", site), (rows.element,))
    columns = (Items("tuple", None, one, ("zip", site, at)) for at, one in enumerate(items))
    return Items("list", tuple(columns))


def _map(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if len(values) < 2:
        return _unknown("map", arguments)
    rows, row = elements(machine, _zip(machine, values[1:], arguments, site), site)
    given = rows if rows is not None and len(rows) <= 8 else (row,)
    made = tuple(
        machine.choose(machine.call(values[0], Arguments(one.items or ()), site))
        for one in given
        if isinstance(one, Items)
    )
    if given is rows:
        return Items("list", made)
    return Items("list", None, made[0] if made else None, ("map", site), dataset_iterables(values[1:]))


def _ordered(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if not values:
        return _unknown("sorted", arguments)
    _, element = elements(machine, values[0], site)
    made = Items("list", None, element, ("sorted", symbol_of(values[0])), dataset_iterables(values[:1]))
    made.most = most_items(values[0])
    return made


def _sorted(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    made = _ordered(machine, values, arguments, site)
    if values:
        _compared(machine, "sorted", values[:1], arguments, site)
    if isinstance(made, Items) and made.over:
        made.around = machine.context.loops
    return made


def _sum(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if values:
        items, element = elements(machine, values[0], site)
        first = element or (items[0] if items else None)
        if first is not values[0] and first is not None:
            machine.library.value_read(first, "arithmetic", site)
        if first is not None and (total := machine.library.total(first, items or (first,), site)) is not None:
            return total
        start = arguments.get("start", 1)
        terms = items if items is None or start is None else (*items, start)
        if terms and all(
            isinstance(item, Constant) and isinstance(item.value, int) and is_small(item.value) for item in terms
        ):
            return Constant(sum(item.value for item in terms if isinstance(item, Constant)), site)  # type: ignore[misc]
    return _unknown("sum", arguments)


def _next(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if not values:
        return _unknown("next", arguments)
    machine.library.iterated(values[0], "next", site, None)
    items, element = elements(machine, values[0], site)
    is_any = items is not None and len(items) > 1 and isinstance(items[0], Constant)
    first = items[0] if items and not is_any else None
    return element or first or Unknown(("next", symbol_of(values[0]), site))


def _iter(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    return values[0] if values else _unknown("iter", arguments)


def _round(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    for value in values[:1]:
        machine.library.value_read(value, "arithmetic", site)
    return _unknown("round", arguments)


def _operate(name: str, sign: str, operands: int) -> Callable[..., Value]:
    """The built-in function `name`, which applies an operator."""

    def run(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
        computed = None
        if len(values) == operands == len(arguments.all()):
            computed = machine.library.operate(sign, tuple(values), ir.Pass(site.node))
        return computed or _unknown(name, arguments)

    return run


def _extreme(name: str) -> Callable[..., Value]:
    def run(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
        numbers = [v.value for v in values if isinstance(v, Constant) and isinstance(v.value, (int, float))]
        if len(numbers) == len(values) > 1:
            named = tuple(word for v in values if isinstance(v, Constant) for word in v.named)
            return Constant(max(numbers) if name == "max" else min(numbers), site, named)
        return _compared(machine, name, values, arguments, site) or _unknown(name, arguments)

    return run


def _compared(machine: Machine, name: str, values: list[Value], arguments: Arguments, site: Site) -> Value | None:
    """One of the values that `min`, `max` or `sorted` compares, directly or by a key; None if it is unknown."""
    items, element = elements(machine, values[0], site) if len(values) == 1 else (tuple(values), None)
    several = items if items is not None and len(items) <= MAX_UNROLL else (element,)
    given = tuple(one for one in several if one is not None)
    if (key := arguments.get("key")) is None or key is NONE:
        return machine.library.ordered(name, given, site)
    keys = tuple(machine.choose(machine.call(key, Arguments((one,)), site)) for one in given)
    machine.library.ordered(name, keys, site)
    return None


def _getattr(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if len(values) >= 2 and isinstance(values[1], Constant) and isinstance(values[1].value, str):
        name = values[1].value
        default = values[2] if len(values) > 2 else None

        def read(option: Value) -> Value:
            if (
                default is not None
                and isinstance(option, LibraryName)
                and not machine.library.has_name(f"{option.name}.{name}", option.package)
            ):
                return default
            return attribute_lookup.attribute(machine, option, name, ir.Pass(site.node))

        return machine.each(values[0], read, site)
    if len(values) >= 2 and isinstance(values[0], LibraryName):
        if (one := machine.library.any_member(values[0])) is not None:
            return one
    found: Value | None = None
    if len(values) == 2 and isinstance(values[0], ModuleValue):
        found = dynamic_lookup.of_module(machine, values[0].scope, values[1])
    elif len(values) == 2 and isinstance(values[0], Object):
        owner = values[0]
        found = dynamic_lookup.of_object(
            machine, owner, values[1], lambda name: attribute_lookup.attribute(machine, owner, name, ir.Pass(site.node))
        )
    return found or _unknown("getattr", arguments)


def _names(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    """Result of `globals()`, `vars()`, `vars(module)` or `vars(options)`."""
    if not values:
        return Namespace(machine.frame.module)
    if isinstance(values[0], ModuleValue):
        return Namespace(values[0].scope)
    return AttributeDict(values[0]) if isinstance(values[0], Object) else _unknown("vars", arguments)


def _exec(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    overwriting.overwrite_any(machine, machine.frame.module.globals, site)
    for value in arguments.all():
        machine.library.escaped(value, "passed", site)
    return NONE


def _eval(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if not values:
        return _unknown("eval", arguments)
    found = dynamic_lookup.evaluated(
        machine, values[0], lambda name: name_lookup.load(machine, name, ir.Pass(site.node))
    )
    return found or _unknown("eval", arguments)


def _setattr(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if len(values) == 3 and isinstance(values[0], Object) and isinstance(values[1], Constant):
        machine.state.write(values[0].attributes, str(values[1].value), values[2])
    elif len(values) == 3:
        overwriting.overwrite_attributes(machine, values[0], site)
    return NONE


_CONTAINERS = frozenset({"builtins.dict", "builtins.list", "builtins.tuple", "builtins.set"})


def _isinstance(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if len(values) == 2:
        value, kind = values
        if isinstance(kind, LibraryName) and isinstance(value, Constant) and kind.name.startswith("builtins."):
            known: Any = {"int": int, "str": str, "float": float, "bool": bool}.get(kind.name[9:])
            if known is not None:
                return TRUE if isinstance(value.value, known) else FALSE
        if isinstance(kind, LibraryName) and isinstance(value, (Items, Mapping)) and kind.name in _CONTAINERS:
            own = "dict" if isinstance(value, Mapping) else value.kind
            return TRUE if own == kind.name[9:] else FALSE
        if isinstance(kind, Items) and kind.items:
            found = [_is_instance(machine, value, one) for one in kind.items]
            certain = True if True in found else None if None in found else False
        else:
            certain = _is_instance(machine, value, kind)
        if certain is not None:
            return TRUE if certain else FALSE
        return either(Condition("isinstance", symbol_of(value), symbol_of(kind)))
    return _unknown("isinstance", arguments)


def _is_instance(machine: Machine, value: Value, kind: Value) -> bool | None:
    """Whether an object is an instance of a class; None if it is unknown."""
    if not isinstance(value, Object):
        return None
    if isinstance(kind, UserClass) and value.cls is not None:
        return True if kind in value.cls.classes else None if value.cls.is_open else False
    return machine.library.is_instance(value, kind)


def _type(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    if len(values) == 1:
        value = values[0]
        if isinstance(value, Object) and (cls := value.cls or machine.library.class_of(value)) is not None:
            return cls
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
            return LibraryName(f"builtins.{name}")
    return _unknown("type", arguments)


def _super(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    frame = machine.frame
    receiver = values[1] if len(values) == 2 else frame.receiver
    if len(values) == 2 and isinstance(values[0], UserClass) and receiver is not None:
        return Super(values[0], receiver)
    owner = machine.owner_of(frame)
    if owner is not None and receiver is not None:
        return Super(owner, receiver)
    return Unknown(("super", site))


def _any(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    _test_each(machine, values, site)
    return either(Condition("truth", ("any", symbol_of(values[0]) if values else site)))


def _all(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
    _test_each(machine, values, site)
    return _unknown("all", arguments)


def _test_each(machine: Machine, values: list[Value], site: Site) -> None:
    """Read the elements of what `any` or `all` tests."""
    items, element = elements(machine, values[0], site) if values else (None, None)
    for one in items if items is not None and len(items) <= MAX_UNROLL else (element,):
        if one is not None:
            machine.library.value_read(one, "bool", site)


def _property(machine: Machine, values: list[Value], arguments: Arguments, site: Site) -> Value:
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
    "filter": lambda machine, values, arguments, site: _ordered(machine, values[1:], arguments, site),
    "sum": _sum,
    "round": _round,
    "abs": _operate("abs", "abs", 1),
    "pow": _operate("pow", "**", 2),
    "next": _next,
    "iter": _iter,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "getattr": _getattr,
    "globals": _names,
    "vars": _names,
    "eval": _eval,
    "exec": _exec,
    "setattr": _setattr,
    "isinstance": _isinstance,
    "type": _type,
    "super": _super,
    "all": _all,
    "any": _any,
    "property": _property,
}

_ITERATES = frozenset({"list", "tuple", "set", "enumerate", "zip", "map", "sorted", "filter", "sum", "iter"})
"""Built-in functions that iterate over their arguments."""

_LOOKS_AT_NONE = frozenset({"len", "print", "int", "float", "bool", "str", "getattr", "setattr", "type", "super"})
"""Built-in functions that look at no element of a container."""

_OF_ONE_ELEMENT = frozenset({"append", "add", "appendleft", "get", "setdefault", "clear"})
"""Methods of containers that take no longer for a large one."""


def builtin_method(machine: Machine, receiver: Value, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of a method of a string, list, tuple, set, dict, range or generator."""
    if name not in _OF_ONE_ELEMENT:
        machine.spend_on(receiver)
    if isinstance(receiver, Items):
        return sequences.sequence_method(machine, receiver, name, arguments, site)
    if isinstance(receiver, Mapping):
        return dicts.dict_method(machine, receiver, name, arguments, site)
    if isinstance(receiver, (AttributeDict, Namespace)):
        if name == "get" and (key := arguments.get("", 0)) is not None:
            if (found := dynamic_lookup.of_names(machine, receiver, key)) is not None:
                return found
        if name == "update":
            overwriting.update_attributes(machine, receiver, arguments, site)
        elif name in ("clear", "pop", "popitem", "setdefault"):
            overwriting.overwrite_attributes(machine, receiver, site)
    if name == "format":
        template = receiver.value if isinstance(receiver, Constant) else None
        for value in arguments.all():
            machine.library.value_read(value, "format", site)
        if isinstance(template, str) and len(template) <= MAX_STRING:
            machine.spend(len(template) // ELEMENTS_PER_STEP)
            return formatted(template, arguments, site)
    if isinstance(receiver, Constant) and isinstance(receiver.value, str):
        return of_string(machine, receiver, name, arguments, site)
    return Unknown(("call", ("attribute", symbol_of(receiver), name), tuple(symbol_of(v) for v in arguments.all())))
