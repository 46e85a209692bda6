"""Names that a function definition assigns, reads and returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpulint.syntax import ir, walk


class Uses(NamedTuple):
    """Names assigned (other than to None) and names read by a definition: global names, and attributes of the first
    parameter, which start with "."."""

    filled: frozenset[str]
    read: frozenset[str]


def uses_of(definition: ir.FunctionDef | ir.Lambda) -> Uses:
    """Names that a definition itself assigns and reads."""
    receiver = definition.parameters[0].name if definition.parameters else None
    declared: set[str] = set()
    targets: list[tuple[ir.Node, bool]] = []
    for node in walk.below(definition.body):
        if isinstance(node, ir.Declare) and node.kind == "global":
            declared.update(node.names)
        elif isinstance(node, ir.Assign) and node.value is not None:
            gives = not (isinstance(node.value, ir.Constant) and node.value.value is None)
            targets += [(one, gives) for target in node.targets for one in _parts(target)]
    filled = {name for one, gives in targets if gives and (name := _name(one, receiver))}
    written = {id(one) for one, _ in targets}
    read = {name for one in walk.below(definition.body) if id(one) not in written and (name := _name(one, receiver))}
    return Uses(frozenset(name for name in filled if name[0] == "." or name in declared), frozenset(read))


def _parts(target: ir.Node) -> Iterator[ir.Node]:
    if isinstance(target, ir.Sequence_):
        for item in target.elements:
            yield from _parts(item)
    else:
        yield target.value if isinstance(target, ir.Starred) else target


def _name(node: ir.Node, receiver: str | None) -> str | None:
    if isinstance(node, ir.Name):
        return node.id
    if isinstance(node, ir.Attribute) and isinstance(node.value, ir.Name) and node.value.id == receiver:
        return f".{node.name}"
    return None


def returned_names(definition: ir.FunctionDef) -> frozenset[str]:
    """Variables that the `return` statements below a definition return as they are."""
    returned = (node.value for node in walk.below(definition) if isinstance(node, ir.Return))
    return frozenset(value.id for value in returned if isinstance(value, ir.Name))


def words_in(node: ir.Node) -> Iterator[str]:
    """Names and attribute names below a syntax node."""
    for present in walk.below(node):
        if isinstance(present, ir.Name):
            yield present.id
        elif isinstance(present, ir.Attribute):
            yield present.name
