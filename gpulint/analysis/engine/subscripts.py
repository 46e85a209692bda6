"""Items and slices."""

from __future__ import annotations

from typing import Any

from gpulint.analysis.domain.host_arrays import MASK, chooses_rows, host_array
from gpulint.analysis.domain.lengths import most_items, slice_length
from gpulint.analysis.domain.values.base import Constant, LibraryName, Union, Unknown, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import Namespace, UserClass
from gpulint.analysis.domain.values.instances import AttributeDict
from gpulint.analysis.engine import dicts, dynamic_lookup, special_methods
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.engine.strings import is_small
from gpulint.syntax import ir


def _is_class(name: str) -> bool:
    """Whether a library name is that of a class, such as `typing.Optional` or `builtins.list` but not `sys.argv`."""
    home, _, last = name.rpartition(".")
    return last[:1].isupper() or home == "builtins"


def item(machine: Machine, container: Value, key: Value, node: ir.Node) -> Value:
    """Value of `container[key]`. Neither may be a `Union`."""
    index = key.value if isinstance(key, Constant) else None
    if isinstance(container, Items):
        items = container.items
        if items is not None and isinstance(index, int) and -len(items) <= index < len(items):
            return machine.choose(items[index])
        if container.element is not None:
            return container.element
        if items and not isinstance(items[0], Constant):
            machine.spend_on(container)
            if all(type(one) is type(items[0]) for one in items):
                return items[0]
    elif isinstance(container, Mapping) and (entry := dicts.entry(machine, container, key)) is not None:
        return entry
    elif isinstance(container, (AttributeDict, Namespace)):
        if (named_so := dynamic_lookup.of_names(machine, container, key)) is not None:
            return named_so
    elif (found := machine.library.get_item(container, key, node)) is not None:
        return found
    elif isinstance(container, Constant) and isinstance(container.value, str) and isinstance(index, int):
        if -len(container.value) <= index < len(container.value):
            return Constant(container.value[index])
    elif isinstance(container, UserClass) or (isinstance(container, LibraryName) and _is_class(container.name)):
        return container  # a subscripted generic class
    elif (
        made := special_methods.call_special(machine, container, "__getitem__", (key,), machine.site(node))
    ) is not None:
        return made
    return Unknown(("item", symbol_of(container), symbol_of(key)))


def masked(machine: Machine, container: Value, key: Union, node: ir.Node) -> Value | None:
    """Rows of an array in host memory for which a comparison of arrays holds: `x[y == 1]`. None for anything else."""
    if type(container) is not Unknown or host_array(container.symbol) is None:
        return None
    if not all(isinstance(known(one), bool) or chooses_rows(symbol_of(one)) for _, one in key.alternatives):
        return None
    return Unknown(("item", container.symbol, symbol_of(Unknown((MASK, machine.site(node))))))


def sliced(machine: Machine, container: Value, bounds: tuple[Value, ...], node: ir.Node) -> Value:
    """Value of `container[lower:upper:step]`."""
    values: list[Any] = [bound.value if isinstance(bound, Constant) else ... for bound in bounds]
    lower, upper, step = values
    exact = all(bound is None or isinstance(bound, int) for bound in (lower, upper, step))
    if isinstance(container, Items):
        machine.spend_on(container)
        if exact and container.items is not None and step != 0:
            return Items(container.kind, container.items[lower:upper:step], None, container.symbol)
        items = container.items
        rows = Items(
            container.kind,
            None,
            container.element or (items[0] if items else None),
            ("slice", container.symbol, *map(symbol_of, bounds)),
        )
        lengths = [one for one in (most_items(container), slice_length(*values)) if one is not None]
        rows.most = min(lengths, default=None)
        return rows
    if (part := machine.library.get_slice(container, bounds, node)) is not None:
        return part
    if isinstance(container, Constant) and isinstance(container.value, (str, bytes)) and exact and step != 0:
        if is_small(container.value):
            return Constant(container.value[lower:upper:step])
    return Unknown(("slice", symbol_of(container), *(symbol_of(bound) for bound in bounds)))
