"""Counters of loops and objects: the analysis sees no more than their first few values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.symbolic import COUNTER
from gpulint.analysis.domain.values.base import Constant, Unknown, Value
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site
from gpulint.syntax import ir, walk


def attribute_as_counter(machine: Machine, receiver: Object, name: str, value: Value, site: Site) -> Value:
    """Value of an attribute after `receiver.name = value`: a counter if a method of the class increments or decrements
    it. Otherwise `if self.size < 64: return` would look as if it always returned."""
    if receiver.cls is None or name not in counted(receiver.cls.definition):
        return value
    is_number = isinstance(value, Constant) and type(value.value) is int
    if is_number or (type(value) is Unknown and COUNTER in value.symbol.words):
        return _counter(machine, name, site, None)
    return value


def variable_as_counter(
    machine: Machine, target: ir.Expr, before: Value, value: Value, site: Site, *, is_bounded: bool = False
) -> Value:
    """Value of a variable after `n += 1` in a loop: a counter unless the loop is unrolled. Otherwise `if n > 1000`
    would look as if it never held. `is_bounded`: it does not grow for ever, as in `n = min(n + 1, size)`."""
    if not isinstance(target, ir.Name) or not machine.loops or machine.context.loops[-1].unrolled:
        return value
    is_number = isinstance(before, Constant) and isinstance(value, Constant) and type(value.value) is int
    if is_number or (type(before) is Unknown and before.symbol.parts[0] == COUNTER):
        return _counter(machine, target.id, site, None if is_bounded else _range(before, value))
    return value


def _range(before: Value, value: Value) -> tuple[int, int] | None:
    """Start and step of a counter that is incremented for the first time, None if they are unknown."""
    if isinstance(before, Constant) and isinstance(value, Constant) and type(before.value) is type(value.value) is int:
        return before.value, value.value - before.value
    return None


def _counter(machine: Machine, name: str, site: Site, counts: tuple[int, int] | None) -> Unknown:
    for loop in machine.context.loops:
        loop.counters.setdefault(site, counts)
    return Unknown((COUNTER, name, site))


@lru_cache(maxsize=256)
def counted(definition: ir.ClassDef) -> frozenset[str]:
    """Attributes that the methods of a class increment or decrement: `self.n += 1`, `self.n = min(self.n + 1, 9)`."""
    return frozenset(_counted(definition))


def _counted(definition: ir.ClassDef) -> Iterator[str]:
    for node in walk.below(definition):
        if isinstance(node, ir.AugAssign):
            target: ir.Expr = node.target
            if not _is_number(node.value):
                continue
        elif isinstance(node, ir.Assign) and node.value is not None and len(node.targets) == 1:
            target = node.targets[0]
            if not (is_incremented(target, node.value) or is_bounded(target, node.value)):
                continue
        else:
            continue
        if isinstance(target, ir.Attribute) and isinstance(target.value, ir.Name):
            yield target.name


def is_incremented(target: ir.Expr, value: ir.Expr) -> bool:
    """Whether an assignment of `value` adds a number to the target, or subtracts or multiplies one: `n = n + 1`."""
    return isinstance(value, ir.Binary) and walk.is_same_place(target, value.left) and _is_number(value.right)


def is_bounded(target: ir.Expr, value: ir.Expr) -> bool:
    """Whether an assignment of `value` increments the target up to a bound, or starts again at the bound:
    `n = min(n + 1, size)`, `n = (n + 1) % size`."""
    if isinstance(value, ir.Binary):
        return value.operator == "%" and is_incremented(target, value.left)
    if isinstance(value, ir.Call) and isinstance(value.function, ir.Name) and value.function.id in ("max", "min"):
        return any(is_incremented(target, one.value) for one in value.arguments)
    return False


def _is_number(node: ir.Expr | None) -> bool:
    return isinstance(node, ir.Constant) and type(node.value) is int
