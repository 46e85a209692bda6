"""The functions and classes around a node."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from gpulint.syntax import ir

Definitions: TypeAlias = "tuple[ir.FunctionDef | ir.ClassDef, ...]"


class Enclosing:
    """The functions and classes around the nodes of a module, indexed by the numbers of the nodes."""

    def __init__(self, module: ir.Module) -> None:
        entries = list(_entries(module.body))
        self._starts = [number for number, _ in entries]
        self._around = [around for _, around in entries]

    def of(self, number: int) -> Definitions:
        """The functions and classes around a node, outermost first."""
        index = bisect_right(self._starts, number) - 1
        return self._around[index] if index >= 0 else ()

    def context_of(self, number: int) -> str:
        """The dotted name of the functions and classes around a node, "" at module level.

        Decorators, defaults and base classes belong to the scope around the definition.
        """
        return ".".join(definition.name for definition in self.of(number))

    def functions_of(self, number: int) -> frozenset[int]:
        """The number of the innermost function around a node, -1 at module level or in a class.

        Decorators, defaults and annotations of a function belong both to it and to the function around it.
        """
        around = self.of(number)
        found = {_function(around)}
        behind = bisect_right(self._starts, number)
        if 0 < behind < len(self._starts):
            inside = self._around[behind][len(around) :]
            if inside and inside[0].number == self._starts[behind - 1]:
                found.add(_function(self._around[behind]))
        return frozenset(found)


def _function(around: Definitions) -> int:
    return next((one.number for one in reversed(around) if isinstance(one, ir.FunctionDef)), -1)


def _entries(body: Sequence[ir.Statement]) -> Iterator[tuple[int, Definitions]]:
    """(number, enclosing definitions) of each statement, handler and case; their numbers precede those of their
    contents."""
    pending: list[tuple[ir.Statement | ir.Handler | ir.Case, Definitions]] = [(each, ()) for each in reversed(body)]
    while pending:
        node, around = pending.pop()
        yield node.number, around
        if isinstance(node, ir.FunctionDef | ir.ClassDef):
            around = (*around, node)
        pending.extend([(each, around) for each in reversed(_parts(node))])


def own_statements(body: Sequence[ir.Statement]) -> Iterator[ir.Statement | ir.Handler | ir.Case]:
    """The statements, handlers and cases of a block, recursively, without nested functions and classes."""
    pending: list[ir.Statement | ir.Handler | ir.Case] = [*body]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ir.FunctionDef | ir.ClassDef):
            pending += _parts(node)


def body_of(module: ir.Module, number: int) -> Sequence[ir.Statement]:
    """The body of the function with a number, empty for a lambda."""
    pending: list[ir.Statement | ir.Handler | ir.Case] = [*module.body]
    while pending:
        node = pending.pop()
        if isinstance(node, ir.FunctionDef) and node.number == number:
            return node.body
        pending += _parts(node)
    return ()


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
