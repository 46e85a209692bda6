"""Entry points of a file and the order in which they are run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from gpulint.analysis.domain.module_scope import ModuleScope
from gpulint.analysis.domain.store import MISSING
from gpulint.analysis.domain.values.base import Constant
from gpulint.analysis.domain.values.functions import Descriptor, Function, Traced, UserClass
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.plan import events
from gpulint.analysis.project.definition_uses import Uses
from gpulint.analysis.project.slicing import Relevant
from gpulint.places import Site
from gpulint.syntax import ir


class Entry(NamedTuple):
    """A function or method that may have no caller in the program."""

    own: Function
    """The function as defined in the file."""
    called: Function | Traced
    """The function that replaces it once all decorators are applied."""
    owner: UserClass | None

    @property
    def site(self) -> Site:
        return self.own.definition_site


def entries(machine: Machine, scope: ModuleScope, relevant: Relevant | None) -> Iterator[tuple[Entry, bool]]:
    """Relevant entry points of the file, and whether others depend on the names that they assign.

    Functions that no other one names come first: they are more likely to be callers than callees. Of these, those that
    a class inherits from another file come last.
    """
    candidates = [entry for name, value in scope.globals.items() if (entry := _entry(name, value, None)) is not None]
    candidates = [entry for entry in candidates if entry.own.module is scope]
    for cls in machine.plan.classes.values():
        if cls.module is scope:
            candidates += _methods(cls)
    if _is_script(machine, scope):
        candidates = [one for one in candidates if not _is_dead(machine, scope, one)]
    named = {id(one.own.definition): (one.own.name, machine.project.words_of(one.own.definition)) for one in candidates}
    wanted = {id(one) for one in candidates if relevant is None or _is_relevant(one, scope, relevant)}
    mentions = Counter(name for _, own in named.values() for name in own)

    def is_named(entry: Entry) -> bool:
        own = entry.own.name in named[id(entry.own.definition)][1]
        return mentions[entry.own.name] > own

    candidates.sort(key=lambda one: (is_named(one), one.own.module is not scope))
    return assigners_first(machine, candidates, [id(one) in wanted for one in candidates])


def _is_relevant(entry: Entry, scope: ModuleScope, relevant: Relevant) -> bool:
    """Whether a function, or the class of a method, leads to something relevant. A method inherited from another file
    is analysed there, so here only what it does through this file's class counts."""
    own, owner = entry.own, entry.owner
    if owner is None:
        node = (own.module.path, own.name)
        return relevant.has(node) or not relevant.known(node)
    defining = next(
        (one for one in owner.classes if any(own.definition is each for each in one.definition.body)), owner
    )
    node = (defining.module.path, f"{defining.definition.name}.{own.name}")
    if not relevant.known(node) and not own.name.startswith("__"):
        return True
    classes = [(one.module.path, one.definition.name) for one in owner.classes]
    if defining.module is not scope:
        return relevant.has(node) and any(relevant.comes_home(one) for one in (node, *classes))
    return relevant.has(node) or any(relevant.has(one) for one in classes)


def _is_script(machine: Machine, scope: ModuleScope) -> bool:
    """Whether importing the file would train a model, so that no other program imports it for its functions."""
    trains = any(isinstance(event, (events.GradientsApplied, events.ModelFitted)) for event in machine.plan.events)
    return trains and "__name__" not in scope.syntax.words


def _is_dead(machine: Machine, scope: ModuleScope, entry: Entry) -> bool:
    """Whether no code in the file names a function, or the class of a method."""
    name = entry.owner.definition.name if entry.owner is not None else entry.own.name
    for statement in scope.syntax.body:
        if isinstance(statement, (ir.FunctionDef, ir.ClassDef)) and statement.name == name:
            if statement.decorators:
                return False
        elif name in machine.project.words_of(statement):
            return False
    return True


def _methods(cls: UserClass) -> Iterator[Entry]:
    """Methods of a class: its own, and those of bases in other files, which may call its own."""
    for one in cls.classes:
        if one is cls or one.module is not cls.module:
            for name, value in one.namespace.items():
                entry = _entry(name, value, cls)
                if entry is not None and (one is cls or cls.find(name) == (value, one)):
                    yield entry


def _entry(name: str, value: object, owner: UserClass | None) -> Entry | None:
    """Entry point for an attribute of a module or class, if it is a function."""
    if (function := _function_of(value)) is None:
        return None
    if isinstance(value, Descriptor):
        owner = owner if value.kind != "static" else None
        value = value.function
    called = value if isinstance(value, Traced) else function
    return Entry(next((one for one in _wrapped(function) if one.name == name), function), called, owner)


def _wrapped(function: Function) -> Iterator[Function]:
    """A function and, if a decorator created it, the functions that it closes over."""
    seen: list[Function] = []
    pending = [function]
    while pending:
        one = pending.pop()
        if not any(one is other for other in seen):
            seen.append(one)
            yield one
            given = one.closure[0].values() if one.closure else ()
            pending += [inner for value in given if (inner := _function_of(value)) is not None]


def _function_of(value: object) -> Function | None:
    if isinstance(value, (Traced, Descriptor)):
        return _function_of(value.function)
    return value if isinstance(value, Function) and isinstance(value.definition, ir.FunctionDef) else None


MAX_CALLEES = 100
"""Maximum number of methods that count as part of the one that calls them."""

MAX_ASSIGNERS = 50
"""Maximum number of entries that are run before the others for assigning one name."""


def assigners_first(machine: Machine, entries: list[Entry], wanted: list[bool]) -> Iterator[tuple[Entry, bool]]:
    """The wanted entries, each after the entries that assign what it reads but neither it nor its constructor assigns.
    Each comes with whether it assigns something for others. What reads something that a wanted entry assigns is wanted,
    too."""
    uses = [_with_callees(machine, one) for one in entries]
    filling: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for number, (entry, own) in enumerate(zip(entries, uses, strict=True)):
        for name in own.filled:
            fillers = filling[_whose(entry, name), name]
            if len(fillers) < MAX_ASSIGNERS and _is_empty(machine, name, entry.owner):
                fillers.append(number)
    behind = [
        sorted({one for name in own.read - own.filled for one in filling.get((_whose(entry, name), name), ())})
        for entry, own in zip(entries, uses, strict=True)
    ]
    giving = {one for before in behind for one in before}
    done: set[int] = set()

    def in_order(number: int) -> Iterator[int]:
        pending = [(number, False)]
        while pending:
            one, is_next = pending.pop()
            if is_next:
                yield one
            elif one not in done:
                done.add(one)
                pending.append((one, True))
                pending += [(before, False) for before in reversed(behind[one])]

    for number, before in enumerate(behind):
        for one in in_order(number) if wanted[number] or any(wanted[one] for one in before) else ():
            yield entries[one], one in giving


def _whose(entry: Entry, name: str) -> int:
    """Owner of a name: the serial number of a class, or 0 for the module."""
    return entry.owner.serial if name[0] == "." and entry.owner is not None else 0


def _with_callees(machine: Machine, entry: Entry) -> Uses:
    """Names assigned and read by a function and the methods that it calls on its own object, directly or indirectly;
    those of the function alone if there are more than `MAX_CALLEES`."""
    seen: dict[int, Uses] = {}
    pending = [entry.own.definition]
    while pending:
        definition = pending.pop()
        if id(definition) not in seen:
            own = seen[id(definition)] = machine.project.uses_of(definition)
            if entry.owner is not None:
                pending += [
                    one for name in own.read if (one := _method(entry.owner, name)) is not None and id(one) not in seen
                ]
            if len(seen) > MAX_CALLEES:
                return machine.project.uses_of(entry.own.definition)
    return Uses(
        frozenset().union(*(one.filled for one in seen.values())),
        frozenset().union(*(one.read for one in seen.values())),
    )


def _method(cls: UserClass, name: str) -> ir.FunctionDef | ir.Lambda | None:
    found = cls.find(name[1:]) if name[0] == "." else None
    return found[0].definition if found is not None and isinstance(found[0], Function) else None


def _is_empty(machine: Machine, name: str, owner: UserClass | None) -> bool:
    """Whether a name is unassigned or None when the entry points are run."""
    if name[0] != ".":
        value = machine.module_frame.locals.get(name, MISSING)
        return value is MISSING or (isinstance(value, Constant) and value.value is None)
    if owner is None:
        return False
    constructor = _method(owner, ".__init__")
    if constructor is not None and name in machine.project.uses_of(constructor).filled:
        return False
    found = owner.find(name[1:])
    return found is None or (isinstance(found[0], Constant) and found[0].value is None)
