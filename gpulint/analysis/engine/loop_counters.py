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


def variable_as_counter(machine: Machine, target: ir.Expr, before: Value, value: Value, site: Site) -> Value:
    """Value of a variable after `n += 1` in a loop: a counter unless the loop is unrolled. Otherwise `if n > 1000`
    would look as if it never held."""
    if not isinstance(target, ir.Name) or not machine.loops or machine.context.loops[-1].unrolled:
        return value
    is_number = isinstance(before, Constant) and isinstance(value, Constant) and type(value.value) is int
    if is_number or (type(before) is Unknown and before.symbol.parts[0] == COUNTER):
        return _counter(machine, target.id, site, _range(before, value))
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
    """Attributes that the methods of a class increment or decrement: `self.n += 1`, `self.n = self.n + 1`."""
    return frozenset(_counted(definition))


def _counted(definition: ir.ClassDef) -> Iterator[str]:
    for node in walk.below(definition):
        if isinstance(node, ir.AugAssign):
            target: ir.Expr = node.target
            step: ir.Expr | None = node.value
        elif isinstance(node, ir.Assign) and isinstance(node.value, ir.Binary) and len(node.targets) == 1:
            target, step = node.targets[0], node.value.right
            if not walk.is_same_place(target, node.value.left):
                continue
        else:
            continue
        if isinstance(target, ir.Attribute) and isinstance(target.value, ir.Name) and _is_number(step):
            yield target.name


def _is_number(node: ir.Expr | None) -> bool:
    return isinstance(node, ir.Constant) and type(node.value) is int
