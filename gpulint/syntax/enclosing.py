"""In which function or class a node stands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence

from gpulint.syntax import ir


def contexts(module: ir.Module, numbers: Collection[int]) -> dict[int, str]:
    """The dotted name of the enclosing functions and classes of each node, "" at module level.

    Decorators, defaults and base classes belong to the scope around the definition.
    """
    entries = list(_entries(module.body, ""))
    starts = [number for number, _ in entries]
    result = {}
    for number in numbers:
        index = bisect_right(starts, number) - 1
        result[number] = entries[index][1] if index >= 0 else ""
    return result


def _entries(body: Sequence[ir.Statement], context: str) -> Iterator[tuple[int, str]]:
    """(number, context) of each statement, handler and case; lowering numbers them before what they hold."""
    pending: list[tuple[ir.Statement | ir.Handler | ir.Case, str]] = [(each, context) for each in reversed(body)]
    while pending:
        node, context = pending.pop()
        yield node.number, context
        if isinstance(node, ir.FunctionDef | ir.ClassDef):
            context = f"{context}.{node.name}" if context else node.name
        pending.extend([(each, context) for each in reversed(_parts(node))])


def _parts(node: ir.Statement | ir.Handler | ir.Case) -> list[ir.Statement | ir.Handler | ir.Case]:
    match node:
        case ir.If() | ir.For() | ir.While():
            return [*node.body, *node.orelse]
        case ir.Try():
            return [*node.body, *node.handlers, *node.orelse, *node.finalbody]
        case ir.Match():
            return [*node.cases]
        case ir.With() | ir.FunctionDef() | ir.ClassDef() | ir.Handler() | ir.Case():
            return [*node.body]
    return []
