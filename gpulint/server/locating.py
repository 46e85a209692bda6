"""Finding the expression under a cursor, and where its value comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gpulint.places import Span
from gpulint.sources.source import Source
from gpulint.syntax import ir, walk
from gpulint.syntax.enclosing import Enclosing
from gpulint.syntax.spans import spans


@dataclass(frozen=True, slots=True)
class Binding:
    """A name or dotted chain of names that a statement binds.

    `origin` is the expression evaluated for it, `value` the one whose value it gets; None if there is none.
    """

    statement: int
    target: int
    origin: int | None
    value: int | None


@dataclass(frozen=True, slots=True)
class Located:
    """The nodes of a file with their extents, parents first."""

    nodes: dict[int, ir.Node]
    parents: dict[int, int]
    spans: dict[int, Span]
    bindings: dict[tuple[int, str], list[Binding]]
    imported: set[str]
    scopes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The definitions around each name, innermost first; the module is -1."""

    def innermost_first(self) -> list[int]:
        """Numbers of the nodes with an extent. Of those around a place the first is the one that a cursor is on."""
        depths = self._depths()
        return sorted(self.spans, key=lambda number: (*_extent(self.spans[number]), -depths[number]))

    def meant_by(self, number: int) -> Iterator[int]:
        """Numbers of the nodes that a cursor on a node can refer to, likeliest first."""
        yield number
        yield from self._source_of(number)
        while (parent := self.parents.get(number)) is not None:
            holder = self.nodes[parent]
            is_called = isinstance(holder, ir.Call) and holder.function is self.nodes[number]
            if not is_called and not (isinstance(holder, ir.Attribute) and self._is_imported(number)):
                return
            yield (number := parent)

    def _depths(self) -> dict[int, int]:
        """The number of nodes around each node; `nodes` has parents first."""
        depths: dict[int, int] = {}
        for number in self.nodes:
            parent = self.parents.get(number)
            depths[number] = depths[parent] + 1 if parent is not None else 0
        return depths

    def _is_imported(self, number: int) -> bool:
        """Whether a node is an imported name, or a dotted name below one."""
        name = dotted(self.nodes[number])
        return name is not None and name.partition(".")[0] in self.imported

    def _source_of(self, number: int) -> Iterator[int]:
        """The expression whose value a name has, None unless it is unambiguous."""
        name = dotted(self.nodes[number])
        if name is None:
            return
        for scope in self.scopes.get(number, ()):
            found = self.bindings.get((scope, name), [])
            if not found:
                continue
            bound = next((one for one in found if one.target == number), None)
            if bound is None and (scope == self.scopes[number][0] or len(found) == 1):
                before = [one for one in found if one.statement < number and not self._comes_before(number, one)]
                last = max(before, key=lambda one: one.statement, default=None)
                bound = last or (found[0] if len(found) == 1 else None)
            if bound is not None and bound.value is not None:
                yield bound.value
            return

    def _comes_before(self, number: int, binding: Binding) -> bool:
        """Whether a node is evaluated for a binding, and thus before it."""
        node: int | None = number
        while node is not None and node != binding.origin:
            node = self.parents.get(node)
        return node is not None


def _extent(span: Span) -> tuple[int, int]:
    return span.end_row - span.row, span.end_column - span.column


def dotted(node: ir.Node) -> str | None:
    """`a.b.c` for a name or a chain of attributes of one."""
    if isinstance(node, ir.Name):
        return node.id
    if isinstance(node, ir.Attribute) and (base := dotted(node.value)) is not None:
        return f"{base}.{node.name}"
    return None


MODULE = -1


def locate(source: Source, module: ir.Module) -> Located:
    """The places of a file that was lowered to `module`."""
    nodes: dict[int, ir.Node] = {}
    parents: dict[int, int] = {}
    pending: list[tuple[Any, int]] = [(module.body, MODULE)]
    while pending:
        value, parent = pending.pop()
        if isinstance(value, tuple | list):
            pending.extend([(each, parent) for each in reversed(value)])
        elif isinstance(value, ir.Node):
            nodes[value.number] = value
            if parent != MODULE:
                parents[value.number] = parent
            pending.extend([(getattr(value, name), value.number) for name in reversed(walk.fields(value))])
    found = Located(nodes, parents, spans(source, nodes), {}, set())
    _bind(found, Enclosing(module))
    return found


def _bind(found: Located, enclosing: Enclosing) -> None:
    for number, node in found.nodes.items():
        around = enclosing.of(number)
        scopes = (*(one.number for one in reversed(around) if isinstance(one, ir.FunctionDef)), MODULE)
        if isinstance(node, ir.Name | ir.Attribute) and (name := dotted(node)) is not None:
            in_class = next((one.number for one in reversed(around) if isinstance(one, ir.ClassDef)), MODULE)
            found.scopes[number] = (in_class,) if name.startswith("self.") else scopes
        elif isinstance(node, ir.Import | ir.ImportFrom):
            found.imported.update((alias or name).partition(".")[0] for name, alias in node.names)
        elif isinstance(node, ir.FunctionDef):
            for parameter in node.parameters:
                found.bindings.setdefault((number, parameter.name), []).append(Binding(number, number, None, None))
    for number, node in found.nodes.items():
        for target, origin, value in _targets(node):
            name = dotted(target)
            if name is not None and (scopes := found.scopes.get(target.number, ())):
                numbers = (one.number if one is not None else None for one in (origin, value))
                binding = Binding(number, target.number, *numbers)
                found.bindings.setdefault((scopes[0], name), []).append(binding)


def _targets(node: ir.Node) -> Iterator[tuple[ir.Expr, ir.Expr | None, ir.Expr | None]]:
    """The bindings of a statement or expression."""
    pairs: list[tuple[ir.Expr, ir.Expr | None, ir.Expr | None]] = []
    match node:
        case ir.Assign():
            pairs = [(target, node.value, node.value) for target in node.targets]
        case ir.AugAssign():
            pairs = [(node.target, node.value, None)]
        case ir.Walrus():
            pairs = [(node.target, node.value, node.value)]
        case ir.For() | ir.Clause():
            pairs = [(node.target, node.iterable, None)]
        case ir.With():
            pairs = [(target, manager, None) for manager, target in node.items if target is not None]
    while pairs:
        target, origin, value = pairs.pop(0)
        if isinstance(target, ir.Sequence_):
            values: tuple[ir.Expr | None, ...] = (None,) * len(target.elements)
            if isinstance(value, ir.Sequence_) and len(value.elements) == len(target.elements):
                values = tuple(value.elements)
            pairs += [(one, origin, part) for one, part in zip(target.elements, values, strict=True)]
        elif isinstance(target, ir.Starred):
            pairs.append((target.value, origin, None))
        else:
            yield target, origin, value
