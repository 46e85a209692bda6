"""Truth of values and results of comparisons."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.path_conditions import Condition, Path, compatible, length_of, literal_of
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.symbolic import COUNTER, HOST_READ, Symbol
from gpulint.analysis.domain.values.base import FALSE, TRUE, Constant, LibraryName, Union, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import Function, UserClass
from gpulint.analysis.domain.values.tensors import Tensor

_COMPARE: dict[str, Any] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "is": lambda a, b: a is b or (type(a) is type(b) and a == b),
    "is not": lambda a, b: not (a is b or (type(a) is type(b) and a == b)),
}

_NEGATED = {"!=": "==", "<": ">=", "<=": ">", "is not": "is", "not in": "in"}
_MIRRORED = {
    "==": "==",
    "!=": "!=",
    "<": ">",
    ">": "<",
    "<=": ">=",
    ">=": "<=",
    "is": "is",
    "is not": "is not",
}

_ALWAYS_TRUE = (Function, UserClass)
_FALSE = ("typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING")


def truth(value: Value, path: Path) -> list[tuple[Path, bool | None]]:
    """Possible truth values of a value on `path`: pairs (guard, holds)."""
    ways: list[tuple[Path, bool | None]] = []
    for guard, option in alternatives(value, path):
        if not compatible(path, guard):
            continue
        holds = certain_truth(option)
        if holds is not None:
            ways.append((guard, holds))
        else:
            condition = Condition("truth", symbol_of(option))
            for outcome in (True, False):
                if compatible(path, way := guard | {literal_of(condition, outcome)}):
                    ways.append((way, outcome))
    return ways


def certain_truth(value: Value) -> bool | None:
    """Truth of a value, or None if it is uncertain."""
    if isinstance(value, Constant):
        return bool(value.value)
    if isinstance(value, Items):
        return bool(value.items) if value.items is not None else None
    if isinstance(value, Mapping):
        return True if value.entries else None
    if isinstance(value, Object):
        return None if value.cls is not None and (value.cls.find("__bool__") or value.cls.find("__len__")) else True
    if isinstance(value, LibraryName):
        return False if value.name in _FALSE else True if _is_definition(value) else None
    if isinstance(value, _ALWAYS_TRUE):
        return True
    return False if _is_remainder_of_one(value) else None


def _is_remainder_of_one(value: Value) -> bool:
    """Whether a value is the remainder of a whole number divided by 1, as in `step % 1`: always 0."""
    if type(value) is not Unknown or value.symbol.parts[:2] != ("binary", "%"):
        return False
    number, divisor = value.symbol.parts[2:]
    return divisor == symbol_of(_ONE) and _is_whole(number)


_ONE = Constant(1)


@lru_cache(maxsize=8192)
def _is_whole(number: Any) -> bool:
    """Whether a symbol certainly is a whole number: of a `range`, an index, a counter, or one plus or minus another."""
    if not isinstance(number, Symbol):
        return False
    head, *rest = number.parts
    if head == "in_iteration":
        return _is_whole(rest[1])
    if head == "binary":
        return rest[0] in ("+", "-", "*") and all(map(_is_whole, rest[1:]))
    if head == "item":
        return isinstance(rest[0], Symbol) and rest[0].parts[0] == "range"
    return head in ("index", "int", "len", COUNTER) or (head == "constant" and rest[0] == "int")


def _is_definition(value: LibraryName) -> bool:
    """Whether a library name certainly is a module, class or function rather than a flag or setting."""
    return value.name.startswith(("tensorflow.", "builtins."))


def either(condition: Condition) -> Value:
    """Boolean value of a condition: True on the paths where it holds, False on the others."""
    return Union(
        (
            (frozenset({literal_of(condition, True)}), TRUE),
            (frozenset({literal_of(condition, False)}), FALSE),
        )
    )


def negate(value: Value, path: Path) -> Value:
    """Value of `not value`."""
    ways = truth(value, path)
    if len(ways) == 1:
        return FALSE if ways[0][1] else TRUE
    return Union(tuple((guard, FALSE if holds else TRUE) for guard, holds in ways))


def compare(left: Value, sign: str, right: Value) -> Value:
    """Value of `left sign right`. Neither operand may be a `Union`."""
    if isinstance(left, Constant) and isinstance(right, Constant) and sign in _COMPARE:
        try:
            return TRUE if _COMPARE[sign](left.value, right.value) else FALSE
        except TypeError:
            return either(Condition(sign, symbol_of(left), symbol_of(right)))
    if sign in ("is", "is not", "==", "!="):
        certain = _identity(left, right)
        if certain is not None:
            return TRUE if certain == (sign in ("is", "==")) else FALSE
    if sign in ("in", "not in"):
        return _membership(left, sign, right)
    if isinstance(right, Constant) and _is_remainder_of_one(left):
        return compare(Constant(0), sign, right)
    if isinstance(left, Constant) and sign in _MIRRORED:
        left, sign, right = right, _MIRRORED[sign], left
    holds = sign not in _NEGATED
    sign = _NEGATED.get(sign, sign)
    subject = symbol_of(left)
    operand: Any = right.value if isinstance(right, Constant) else symbol_of(right)
    try:
        hash(operand)
    except TypeError:
        operand = right.serial
    return _holds(_simplest(Condition(sign, subject, operand)), holds)


def _simplest(condition: Condition) -> tuple[Condition, bool]:
    """Reduce `len(x) > 0` and similar conditions to the truth of `x`. The second element is false if the result is
    negated."""
    sign, subject, operand = condition
    if isinstance(subject, Symbol) and subject.parts[0] == "len":
        if (sign, operand) in ((">", 0), (">=", 1)):
            return Condition("truth", subject.parts[1]), True
        if (sign, operand) == ("==", 0):
            return Condition("truth", subject.parts[1]), False
    return condition, True


def _holds(simplest: tuple[Condition, bool], holds: bool) -> Value:
    condition, same_way = simplest
    yes, no = (TRUE, FALSE) if holds == same_way else (FALSE, TRUE)
    return Union(
        (
            (frozenset({literal_of(condition, True)}), yes),
            (frozenset({literal_of(condition, False)}), no),
        )
    )


def _identity(left: Value, right: Value) -> bool | None:
    """Whether two values are the same object, or None if it is uncertain. Objects are never None."""
    for one, other in ((left, right), (right, left)):
        if isinstance(other, Constant) and isinstance(one, (Object, Function, UserClass, Items, Mapping)):
            return False
        if isinstance(other, Constant) and other.value is None and _is_something(one):
            return False
    if isinstance(left, LibraryName) and isinstance(right, LibraryName):
        if left.name.startswith(_BUILT_IN) and right.name.startswith(_BUILT_IN):
            return left.name == right.name
    if left is right and isinstance(left, (Object, Function, UserClass)):
        return True
    return None


def _is_something(value: Value) -> bool:
    """Whether a value other than an object of the program certainly is not None: a tensor, a value read from one, a
    library definition."""
    if isinstance(value, LibraryName):
        return _is_definition(value)
    return isinstance(value, Tensor) or (isinstance(value, Unknown) and value.symbol.parts[0] == HOST_READ)


_BUILT_IN = "builtins."
"""Prefix of the names of Python's built-in types. Each name is a single object."""


def _membership(left: Value, sign: str, right: Value) -> Value:
    if isinstance(left, Constant):
        inside: bool | None = None
        if isinstance(right, Constant) and isinstance(right.value, str) and isinstance(left.value, str):
            inside = left.value in right.value
        elif isinstance(right, Items) and right.items is not None:
            if any(isinstance(item, Constant) and item.value == left.value for item in right.items):
                inside = True
            elif all(isinstance(item, Constant) for item in right.items):
                inside = False
        if inside is not None:
            return TRUE if inside == (sign == "in") else FALSE
    condition = Condition("in", symbol_of(left), symbol_of(right))
    return _holds((condition, True), sign == "in")


def length_symbol(value: Value) -> Symbol:
    """Symbol of `len(value)`."""
    return length_of(symbol_of(value))
