"""Whether XLA compiles a training step, by the definition of its graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gpulint.estimate.time.kinds import KINDS

COMPILED = "_XlaMustCompile"
"""Attribute of functions, and of operations that call them, with `jit_compile=True`."""

_BETWEEN = ("elementwise", "reduction")
"""Kinds of operations between the products of a model."""


def is_compiled(definition: Any) -> bool:
    """Whether XLA compiles at least half of a graph's matrix products. Functions of products alone do not count: Keras
    has each convolution with groups compiled, wherever it is."""
    functions = {one.signature.name: one for one in definition.library.function}
    reached = _reached(functions, _called(definition.node))
    marked = [name for name in reached if _is_marked(functions[name])]
    for nodes in (definition.node, *(functions[name].node_def for name in reached)):
        marked += _called(node for node in nodes if _is_marked(node))
    compiled: dict[str, None] = {}
    for name in marked:
        called = _reached(functions, [name])
        if any(KINDS.get(node.op) in _BETWEEN for one in called for node in functions[one].node_def):
            compiled |= called
    products = {name: _products(functions[name].node_def) for name in reached}
    within, others = sum(products[name] for name in compiled), _products(definition.node)
    return bool(compiled) and 2 * within >= others + sum(products.values())


def _is_marked(one: Any) -> bool:
    return COMPILED in one.attr and bool(one.attr[COMPILED].b)


def _called(nodes: Iterable[Any]) -> Iterator[str]:
    """Names of functions in the attributes of operations."""
    for node in nodes:
        for value in node.attr.values():
            if value.WhichOneof("value") == "func":
                yield value.func.name
            elif value.WhichOneof("value") == "list":
                yield from (one.name for one in value.list.func)


def _reached(functions: dict[str, Any], names: Iterable[str]) -> dict[str, None]:
    """Functions with these names, and those that they call, in a fixed order."""
    found: dict[str, None] = {}
    pending = list(names)
    while pending:
        name = pending.pop()
        if name in functions and name not in found:
            found[name] = None
            pending += _called(functions[name].node_def)
    return found


def _products(nodes: Iterable[Any]) -> int:
    return sum(KINDS.get(node.op) == "matrix" for node in nodes)
