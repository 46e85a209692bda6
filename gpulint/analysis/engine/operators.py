"""Python's operators: unary and binary ones, on constants, containers, and objects of the program."""

from __future__ import annotations

import operator
from typing import Any

from gpulint.analysis.domain.values.base import Arguments, Constant, PartialString, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.functions import Bound
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.engine import sequences, strings
from gpulint.analysis.engine.machine import Machine
from gpulint.syntax import ir

_ARITHMETIC: dict[str, Any] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


_METHODS = {
    "+": "__add__",
    "-": "__sub__",
    "*": "__mul__",
    "/": "__truediv__",
    "//": "__floordiv__",
    "%": "__mod__",
    "@": "__matmul__",
    "**": "__pow__",
    "&": "__and__",
    "|": "__or__",
    "<<": "__lshift__",
    ">>": "__rshift__",
}
"""Special methods with which a class of the program overloads an operator."""


MAX_FACTOR = 10**8
"""Largest operand of a multiplication, power or left shift that constant folding computes."""


def operate_unary(machine: Machine, operand: Value, node: ir.Unary) -> Value:
    """Value of `-operand`, `+operand` or `~operand`, where the operand is not a `Union`."""
    if isinstance(operand, Constant) and strings.is_small(operand.value):
        try:
            if node.operator == "-":
                return Constant(-operand.value, machine.site(node), operand.named)  # type: ignore[operator]
            if node.operator == "+":
                return operand
            return Constant(~operand.value, machine.site(node))  # type: ignore[operator]
        except TypeError:
            pass
    if (computed := machine.library.operate(node.operator, (operand,), node)) is not None:
        return computed
    return Unknown(("unary", node.operator, symbol_of(operand)))


def operate_binary(machine: Machine, left: Value, sign: str, right: Value, node: ir.Node) -> Value:
    """Value of `left sign right`. Neither operand may be a `Union`."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _fold(machine, left, sign, right, node)
    if isinstance(left, Instance) and left.cls is not None and (own := left.cls.find(_METHODS.get(sign, ""))):
        return machine.call(Bound(left, own[0]), Arguments((right,)), machine.site(node))
    if sign == "%" and isinstance(left, Constant) and isinstance(left.value, str):
        return strings.format_percent(machine, left.value, right, node)
    if (computed := machine.library.operate(sign, (left, right), node)) is not None:
        return computed
    if sign == "+":
        if isinstance(left, Items) and isinstance(right, Items):
            return sequences.concatenate(left, right)
        if isinstance(left, (PartialString, Constant)) and isinstance(right, (PartialString, Constant)):
            return _concatenate_text(machine, left, right, node)
        for known, other, first in ((left, right, True), (right, left, False)):
            if isinstance(known, Constant) and isinstance(known.value, str) and isinstance(other, Unknown):
                parts = (known.value, None) if first else (None, known.value)
                return PartialString(parts, ("text", parts, symbol_of(other)))
    if sign == "*" and isinstance(left, Items) and isinstance(right, Constant):
        return sequences.repeat(left, right.value)
    return Unknown(("binary", sign, symbol_of(left), symbol_of(right)))


def _fold(machine: Machine, left: Constant, sign: str, right: Constant, node: ir.Node) -> Value:
    a: Any = left.value
    b: Any = right.value
    if isinstance(a, str) and sign == "%":
        return strings.format_percent(machine, a, right, node)
    is_small = strings.is_small(a) and strings.is_small(b)
    heavy = sign in ("**", "<<", "*") and any(isinstance(v, int) and abs(v) > MAX_FACTOR for v in (a, b))
    if sign in ("**", "<<") and isinstance(b, int) and abs(b) > 64:
        heavy = True
    heavy = heavy or (isinstance(a, bytes) and sign == "%")  # a field can be as wide as memory
    if is_small and not heavy and sign in _ARITHMETIC:
        try:
            if not (sign == "*" and isinstance(a, (str, bytes))):
                return Constant(_ARITHMETIC[sign](a, b), machine.site(node), (*left.named, *right.named)[:8])
        except (TypeError, ValueError, ArithmeticError):
            pass
    return Unknown(("binary", sign, symbol_of(left), symbol_of(right)))


def _concatenate_text(machine: Machine, left: Value, right: Value, node: ir.Node) -> Value:
    parts: list[str | None] = []
    for side in (left, right):
        if isinstance(side, PartialString):
            parts += side.parts
        elif isinstance(side, Constant) and isinstance(side.value, str):
            parts.append(side.value)
        else:
            parts.append(None)
    return PartialString(tuple(parts), ("text", tuple(parts), symbol_of(left), symbol_of(right)))
