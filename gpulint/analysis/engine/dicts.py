"""Dicts: lookup and methods."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from gpulint.analysis.domain.path_conditions import Condition, Path, literal_of, one_of
from gpulint.analysis.domain.store import MISSING, join
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.values.base import (
    NONE,
    Arguments,
    Constant,
    Imported,
    LibraryName,
    Union,
    Unknown,
    Value,
    symbol_of,
)
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import Bound, Function, Partial, Traced, UserClass
from gpulint.analysis.engine import overwriting
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site

MAX_CHOICES = 8
"""Maximum number of entries of a dict among which an unknown key selects. In a larger dict of functions and classes,
the first ones represent all; in any other, the entry is unknown."""

MAX_CALLED = 32
"""Maximum number of entries for a dict of the program's own classes and functions: a call rules out some of them."""

_CALLABLE = (Bound, LibraryName, Function, Imported, Partial, Traced, UserClass)


def key_of(key: Value) -> Any:
    """Representation of a key in `Mapping.entries`: the constant, a tuple of constants, or the symbol of an unknown
    key."""
    if isinstance(key, Items) and is_known(key):
        return tuple(one.value for one in key.items or () if isinstance(one, Constant))
    return key.value if isinstance(key, Constant) else symbol_of(key)


def is_known(key: Value) -> bool:
    """Whether a key is a constant, or a tuple of constants."""
    if isinstance(key, Items):
        return key.kind == "tuple" and bool(key.items) and all(isinstance(one, Constant) for one in key.items or ())
    return isinstance(key, Constant)


def entry(machine: Machine, container: Mapping, key: Value, default: Value | None = None) -> Value | None:
    """Value in a dict under a key. `default` if the key is certainly missing, None if the value is unknown.

    An unknown key selects one of the entries, each on the path on which the key equals its own: where the program
    continues, it was one of them. If an entry is a number or a string, the result is None, since which of those applies
    is the caller's choice, unless all are the same.
    """
    entries = container.entries
    complete = container.is_complete
    if (own := entries.get(key_of(key), MISSING)) is not MISSING:
        return machine.choose(own)
    if container.makes_lists and default is None:
        made = Items("list", (), None, ("item", symbol_of(container), symbol_of(key)))
        made.around = container.around
        machine.state.write(entries, key_of(key), made)
        return made
    if (alike := one_of_unknown_keys(container)) is not None:
        return machine.choose(alike)
    if is_known(key):
        return default if complete else None
    if isinstance(key, Union) or not complete or not entries:
        return None
    if isinstance(key, Items) and key.kind == "tuple" and key.items is not None:
        machine.spend_on(container)
        entries = {one: value for one, value in entries.items() if _may_be(key.items, one)}
        if not entries:
            return default
    if len(entries) > MAX_CHOICES and not all(isinstance(value, _CALLABLE) for value in entries.values()):
        return None
    if any(isinstance(value, Constant) for value in entries.values()):
        return _only_constant([*entries.values(), *([default] if default is not None else [])])
    subject = symbol_of(key)
    own = all(isinstance(value, (Function, UserClass)) for value in entries.values())
    meant = list(islice(entries.items(), MAX_CALLED if own else MAX_CHOICES))
    chosen = [literal_of(Condition("==", subject, one), True) for one, _ in meant]
    ways: list[tuple[Path, Value]] = [
        (frozenset({literal}), machine.choose(value)) for literal, (_, value) in zip(chosen, meant, strict=True)
    ]
    if default is not None:
        ways.append((frozenset(literal.negation for literal in chosen), default))
    elif len(meant) == len(entries) > 1:
        machine.assume(frozenset({one_of([guard for guard, _ in ways])}))
    found = join(ways, ("item", symbol_of(container), subject))
    return machine.choose(found) if isinstance(found, Value) else None


def _only_constant(several: Sequence[object]) -> Constant | None:
    """The constant that each of several values is, None if they differ."""
    first = several[0]
    if not isinstance(first, Constant):
        return None
    same = (type(first.value), first.value)
    return first if all(isinstance(one, Constant) and (type(one.value), one.value) == same for one in several) else None


def _may_be(parts: tuple[Value, ...], key: Any) -> bool:
    """Whether a tuple of values may equal this key."""
    return (
        isinstance(key, tuple)
        and len(key) == len(parts)
        and all(not isinstance(part, Constant) or part.value == own for part, own in zip(parts, key, strict=True))
    )


def one_of_unknown_keys(container: Mapping) -> Value | None:
    """Value that represents all entries of a dict that a comprehension creates under unknown keys."""
    if container.is_complete or len(container.entries) != 1:
        return None
    ((key, value),) = container.entries.items()
    return value if isinstance(key, Symbol) else None


def dict_method(machine: Machine, receiver: Mapping, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of `receiver.name(…)` for a dict."""
    key = arguments.get("", 0)
    complete = receiver.is_complete
    if name in ("get", "pop", "setdefault") and key is not None:
        machine.library.value_used(key, site)
        given = arguments.get("", 1)
        default = given or (NONE if name != "pop" else None)
        found = entry(machine, receiver, key, default if name != "setdefault" or is_known(key) else None)
        if name == "pop":
            machine.state.delete(receiver.entries, key_of(key))
        elif name == "setdefault" and found is not None and found is default:
            machine.state.write(receiver.entries, key_of(key), found)
        return found or Unknown(("item", symbol_of(receiver), symbol_of(key)))
    if name == "items" and complete:
        return Items("list", tuple(Items("tuple", (Constant(k), v)) for k, v in receiver.entries.items()))
    if name == "values" and complete:
        return Items("list", tuple(receiver.entries.values()))
    if name == "keys" and complete:
        return Items("list", tuple(Constant(k) for k in receiver.entries))
    if name in ("items", "values") and (alike := one_of_unknown_keys(receiver)) is not None:
        row = Items("tuple", (Unknown(("key", symbol_of(receiver))), alike)) if name == "items" else alike
        return Items("list", None, row, (name, symbol_of(receiver)))
    if name == "update":
        if isinstance(key, Mapping):
            for k, v in key.entries.items():
                machine.state.write(receiver.entries, k, v)
        if key is not None and not (isinstance(key, Mapping) and key.is_complete):
            overwriting.overwrite_any(machine, receiver.entries, site)
        for word, value in arguments.keywords.items():
            machine.state.write(receiver.entries, word, value)
        if key is not None and not (isinstance(key, Mapping) and key.is_complete):
            machine.state.write(receiver.state, "complete", False)
        return NONE
    if name == "copy":
        return Mapping(dict(receiver.entries), complete, receiver.symbol)
    return Unknown(("call", ("attribute", symbol_of(receiver), name), tuple(symbol_of(v) for v in arguments.all())))
