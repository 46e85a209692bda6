"""What functions leave for others: attributes of their object and global names that nothing has filled in before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gpulint.analysis.state import MISSING
from gpulint.analysis.values import Constant, Function, UserClass
from gpulint.syntax import ir

if TYPE_CHECKING:
    from gpulint.analysis.entries import Entry
    from gpulint.analysis.interpreter import Interpreter


class Uses(NamedTuple):
    """Global names, and attributes of the first parameter with a "." before them, that a definition gives a value other
    than None, and those that it reads."""

    filled: frozenset[str]
    read: frozenset[str]


def uses_of(definition: ir.FunctionDef | ir.Lambda) -> Uses:
    """What a definition by itself fills in and reads."""
    receiver = definition.parameters[0].name if definition.parameters else None
    declared: set[str] = set()
    targets: list[tuple[ir.Node, bool]] = []
    for node in ir.below(definition.body):
        if isinstance(node, ir.Declare) and node.kind == "global":
            declared.update(node.names)
        elif isinstance(node, ir.Assign) and node.value is not None:
            gives = not (isinstance(node.value, ir.Constant) and node.value.value is None)
            targets += [(one, gives) for target in node.targets for one in _parts(target)]
    filled = {name for one, gives in targets if gives and (name := _name(one, receiver))}
    written = {id(one) for one, _ in targets}
    read = {name for one in ir.below(definition.body) if id(one) not in written and (name := _name(one, receiver))}
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


def fillers_first(interp: Interpreter, entries: list[Entry], wanted: list[bool]) -> Iterator[tuple[Entry, bool]]:
    """The entries that are wanted, each behind those that fill in what it reads and neither it nor the constructor
    does, and whether it is such a one itself."""
    uses = [_with_callees(interp, one) for one in entries]
    filling: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for number, (entry, own) in enumerate(zip(entries, uses, strict=True)):
        for name in own.filled:
            if _is_empty(interp, name, entry.owner):
                filling[_whose(entry, name), name].append(number)
    behind = [
        sorted({one for name in own.read - own.filled for one in filling.get((_whose(entry, name), name), ())})
        for entry, own in zip(entries, uses, strict=True)
    ]
    giving = {one for before in behind for one in before}
    done: set[int] = set()

    def in_order(number: int) -> Iterator[int]:
        if number not in done:
            done.add(number)
            for one in behind[number]:
                yield from in_order(one)
            yield number

    for number, is_wanted in enumerate(wanted):
        for one in in_order(number) if is_wanted else ():
            yield entries[one], one in giving


def _whose(entry: Entry, name: str) -> int:
    """What a name belongs to: a class by its number, or the module."""
    return entry.owner.serial if name[0] == "." and entry.owner is not None else 0


def _with_callees(interp: Interpreter, entry: Entry) -> Uses:
    """What a function and the methods that it calls on its object fill in and read."""
    seen: dict[int, Uses] = {}
    pending = [entry.own.definition]
    while pending:
        definition = pending.pop()
        if id(definition) not in seen:
            own = seen[id(definition)] = interp.uses_of(definition)
            if entry.owner is not None:
                pending += [one for name in own.read if (one := _method(entry.owner, name)) is not None]
    return Uses(
        frozenset().union(*(one.filled for one in seen.values())),
        frozenset().union(*(one.read for one in seen.values())),
    )


def _method(cls: UserClass, name: str) -> ir.FunctionDef | ir.Lambda | None:
    found = cls.find(name[1:]) if name[0] == "." else None
    return found[0].definition if found is not None and isinstance(found[0], Function) else None


def _is_empty(interp: Interpreter, name: str, owner: UserClass | None) -> bool:
    """Whether a name has no value yet, or None, when the functions are run by themselves."""
    if name[0] != ".":
        value = interp.module_frame.locals.get(name, MISSING)
        return value is MISSING or (isinstance(value, Constant) and value.value is None)
    if owner is None:
        return False
    constructor = _method(owner, ".__init__")
    if constructor is not None and name in interp.uses_of(constructor).filled:
        return False
    found = owner.find(name[1:])
    return found is None or (isinstance(found[0], Constant) and found[0].value is None)
