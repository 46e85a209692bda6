"""What is below a node of the syntax tree, and whether two nodes are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from gpulint.syntax import ir


def size_of(module: ir.Module) -> int:
    """Number of syntax nodes of a module. They are numbered in order: the last is in the last statement."""
    return 1 + max((node.number for node in below(tuple(module.body[-1:]))), default=-1)


def below(node: object) -> Iterator[ir.Node]:
    """Every descendant of a node, in no particular order."""
    stack = [node]
    while stack:
        present = stack.pop()
        if isinstance(present, (tuple, list)):
            stack += present
        elif isinstance(present, ir.Node):
            if present is not node:
                yield present
            stack += [getattr(present, name) for name in fields(present)]


def within(node: ir.Node, wanted: Callable[[ir.Node], bool] = lambda node: True) -> Iterator[ir.Node]:
    """A node and its descendants; nodes that are not `wanted` are left out with theirs."""
    pending = [node]
    while pending:
        one = pending.pop()
        if wanted(one):
            yield one
            pending.extend(children(one))


def children(node: ir.Node | ir.Module) -> Iterator[ir.Node]:
    """The children of a node, by the names of its fields in alphabetical order."""
    for name in fields(node):
        value = getattr(node, name)
        if isinstance(value, ir.Node):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _nodes_of(value)


def _nodes_of(values: Iterable[object]) -> Iterator[ir.Node]:
    for value in values:
        if isinstance(value, ir.Node):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _nodes_of(value)


def fields(node: object) -> tuple[str, ...]:
    """Names of the fields of a node, or of a `Module`, without its number, in alphabetical order."""
    kind: type = type(node)
    return _fields(kind)


@cache
def _fields(kind: type) -> tuple[str, ...]:
    given = getattr(kind, "__mypyc_attrs__", None)  # of a compiled class, which has no `__slots__`
    names = given if given is not None else [name for cls in kind.__mro__ for name in getattr(cls, "__slots__", ())]
    return tuple(sorted(name for name in names if name != "number"))


def is_same_place(a: ir.Expr, b: ir.Expr) -> bool:
    """Whether two expressions are the same name or the same attribute chain."""
    if isinstance(a, ir.Name) and isinstance(b, ir.Name):
        return a.id == b.id
    if isinstance(a, ir.Attribute) and isinstance(b, ir.Attribute):
        return a.name == b.name and is_same_place(a.value, b.value)
    return False
