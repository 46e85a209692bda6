"""Running a file as a program: its body, then whatever nobody called."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from gpulint.analysis import callbacks, members, process
from gpulint.analysis.contexts import Context
from gpulint.analysis.control import Exhausted, Halts
from gpulint.analysis.graph_mode import is_graph_mode
from gpulint.analysis.interpreter import MAX_ENTRY_STEPS, MAX_STEPS, Interpreter
from gpulint.analysis.modules import ModuleRun, ModuleScope, Project
from gpulint.analysis.paths import EVERYWHERE
from gpulint.analysis.plan import Plan
from gpulint.analysis.relevance import Subject, relevant_words, speaking_imports, spread, texts
from gpulint.analysis.values import (
    Arguments,
    Descriptor,
    Function,
    Model,
    Traced,
    Unknown,
    UserClass,
)
from gpulint.places import Site
from gpulint.sources.source import Source
from gpulint.syntax import ir
from gpulint.syntax.parse import parse


def analyse(source: Source, project: Project, target: str, subjects: Iterable[Subject] | None = None) -> Plan:
    """Run one file abstractly and say what it will do. Raises CannotParse.

    Where the program speaks of none of the subjects, nothing is run and the Plan is empty. None runs everything.
    """
    words = relevant_words(project, source, subjects) if subjects is not None else None
    if words is not None and not words:
        return Plan(source.path, target)
    syntax = parse(source)
    project.keep(syntax)
    scope = ModuleScope(syntax, "__main__", is_graph_mode(syntax, target))
    plan = Plan(syntax.path, target, graph_mode=scope.graph_mode, referenced=syntax.words)
    plan.texts = cache(lambda: tuple(texts(project, source)))
    interp = Interpreter(project, scope, plan)

    plan.release = interp.release
    _run_body(interp, syntax)
    _run_entries(interp, scope, words)
    return plan


def _run_body(interp: Interpreter, syntax: ir.Module) -> None:
    try:
        interp.execute(syntax.body)
    except Exhausted:
        interp.plan.is_complete = False
        interp.plan.reached("steps", Site(syntax.path, 0))
    _reset(interp)


def _reset(interp: Interpreter) -> None:
    """After an entry point: nothing is entered, no path is taken, its definitions stay."""
    module = interp.module_frame
    interp.frame = module
    interp.settle()
    interp.path, interp.context = EVERYWHERE, Context()
    interp.loops, interp.active, interp.diverged = [], [], []
    interp.executions.clear()


def _run_entries(interp: Interpreter, scope: ModuleScope, words: frozenset[str] | None) -> None:
    """Run functions and methods that the program itself never calls, with unknown arguments."""
    for entry in _entries(interp, scope, words):
        if id(entry.own.definition) in interp.entered:
            continue
        mark = interp.state.mark()
        interp.step_limit = min(interp.steps + MAX_ENTRY_STEPS, 2 * MAX_STEPS)
        interp.frame = interp.module_frame.entry()
        interp.state.write(interp.runtime, "state", Unknown(("runtime",)))
        try:
            _run_entry(interp, entry)
        except Exhausted:
            interp.plan.is_complete = False
            interp.plan.reached("steps", entry.site)
        except Halts:
            pass
        _reset(interp)
        interp.state.take_back(mark)


class _Entry(NamedTuple):
    """A function or method that nobody in the program may call."""

    own: Function
    """As the file defines it."""
    called: Function | Traced
    """What stands in its place when all decorators have been applied."""
    owner: UserClass | None

    @property
    def site(self) -> Site:
        return Site(self.own.module.path, self.own.definition.number)


def _entries(interp: Interpreter, scope: ModuleScope, words: frozenset[str] | None) -> list[_Entry]:
    """Functions of the file, those first that no other one names: they are more likely callers than callees."""
    candidates = [entry for name, value in scope.globals.items() if (entry := _entry(name, value, None)) is not None]
    candidates = [entry for entry in candidates if entry.own.module is scope]
    for cls in interp.plan.classes.values():
        if cls.module is scope:
            candidates += _methods(cls)
    named = {id(one.own.definition): (one.own.name, interp.words_of(one.own.definition)) for one in candidates}
    if words is not None:
        speaking = words | speaking_imports(interp.project, scope.path, words)
        relevant = spread(named, speaking)
        relevant |= {identity for identity, (name, _) in named.items() if name in words}
        inheriting = {one.owner for one in candidates if one.owner and not _bases(one.owner).isdisjoint(speaking)}
        candidates = [one for one in candidates if id(one.own.definition) in relevant or one.owner in inheriting]
    mentions = Counter(name for _, own in named.values() for name in own)

    def is_named(entry: _Entry) -> bool:
        own = entry.own.name in named[id(entry.own.definition)][1]
        return mentions[entry.own.name] > own

    return sorted(candidates, key=is_named)


def _methods(cls: UserClass) -> Iterator[_Entry]:
    """The methods of a class: its own, and those of bases in other files, which may call its own."""
    for one in cls.classes:
        if one is cls or one.module is not cls.module:
            for name, value in one.namespace.items():
                entry = _entry(name, value, cls)
                if entry is not None and (one is cls or cls.find(name) == (value, one)):
                    yield entry


def _entry(name: str, value: object, owner: UserClass | None) -> _Entry | None:
    """What a module or class has under a name, if that is a function."""
    if (function := _function_of(value)) is None:
        return None
    if isinstance(value, Descriptor):
        owner = owner if value.kind != "static" else None
        value = value.function
    called = value if isinstance(value, Traced) else function
    return _Entry(next((one for one in _wrapped(function) if one.name == name), function), called, owner)


def _wrapped(function: Function) -> Iterator[Function]:
    """A function, and those that it was given as the decorator that it is of."""
    seen: list[Function] = []
    pending = [function]
    while pending:
        one = pending.pop()
        if not any(one is other for other in seen):
            seen.append(one)
            yield one
            given = one.closure[0].values() if one.closure else ()
            pending += [inner for value in given if (inner := _function_of(value)) is not None]


def _bases(cls: UserClass) -> set[str]:
    """The names of the program's classes from which a class inherits."""
    return {base.name for base in cls.classes[1:]}


def _function_of(value: object) -> Function | None:
    if isinstance(value, (Traced, Descriptor)):
        return _function_of(value.function)
    return value if isinstance(value, Function) and isinstance(value.definition, ir.FunctionDef) else None


def _run_entry(interp: Interpreter, entry: _Entry) -> None:
    unknown = Arguments((), {}, True)
    if entry.owner is None:
        interp.call_entry(entry.called, unknown, entry.site)
        return
    receiver = members.unmade(interp, entry.owner, entry.site)
    if id(entry.own.definition) in interp.entered:
        return
    callbacks.prepared(interp, receiver, entry.own, entry.site)
    callbacks.begins(interp, entry.owner, entry.own)
    if isinstance(receiver, Model) and entry.own.name in _TRACED_BY_KERAS:
        interp.context = interp.context._replace(maybe_traced=True)
    from gpulint.analysis.calls import with_receiver

    interp.call_entry(entry.called, with_receiver(receiver, unknown), entry.site, receiver)


_TRACED_BY_KERAS = frozenset({"predict_step", "test_step", "train_step"})
"""Methods of a model that Keras calls, compiled unless told otherwise."""


def run_import(project: Project, path: str, dotted: str, target: str, depth: int) -> ModuleRun | None:
    """Run a module as an import does, once for the project: its scope, and what that did to the process.

    None when it cannot be read. A module that is being imported already is given as far as it got.
    """
    if path not in project.runs:
        syntax = project.syntax_of(path)
        if syntax is None:
            return None
        name = dotted or os.path.splitext(os.path.basename(path))[0]
        scope = ModuleScope(syntax, name, is_graph_mode(syntax, target))
        project.runs[path] = ModuleRun(scope)
        interp = Interpreter(project, scope, Plan(path, target))
        interp.step_limit = MAX_ENTRY_STEPS
        interp.import_depth = depth
        try:
            interp.execute(syntax.body)
        except (Exhausted, Halts):
            pass
        project.runs[path] = ModuleRun(scope, process.left_by(interp))
    return project.runs[path]
