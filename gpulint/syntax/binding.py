"""The names that a node of the syntax tree binds."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.syntax import ir


def bound_by(node: ir.Node) -> Iterator[str]:
    """The names that a node itself binds or changes by setting attributes or elements."""
    match node:
        case ir.Assign() | ir.Delete():
            for each in node.targets:
                yield from _targets(each)
        case ir.AugAssign() | ir.For() | ir.Walrus():
            yield from _targets(node.target)
        case ir.With():
            for _, target in node.items:
                if target is not None:
                    yield from _targets(target)
        case ir.Import():
            yield from (alias or dotted.partition(".")[0] for dotted, alias in node.names)
        case ir.ImportFrom():
            yield from (alias or name for name, alias in node.names)
        case ir.Handler():
            if node.name:
                yield node.name
        case ir.Case():
            yield from node.binds


def _targets(target: ir.Expr) -> Iterator[str]:
    """The names that an assignment to a target binds or changes."""
    match target:
        case ir.Name():
            yield target.id
        case ir.Sequence_():
            for element in target.elements:
                yield from _targets(element)
        case ir.Attribute() | ir.Subscript() | ir.Starred():
            yield from _targets(target.value)
