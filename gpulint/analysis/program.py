"""Running a file as a program: its body, then whatever nobody called."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from gpulint.analysis import callbacks, members
from gpulint.analysis.contexts import Context
from gpulint.analysis.control import Exhausted, Halts
from gpulint.analysis.graph_mode import is_graph_mode
from gpulint.analysis.interpreter import MAX_ENTRY_STEPS, MAX_STEPS, Interpreter
from gpulint.analysis.modules import ModuleScope, Project
from gpulint.analysis.paths import EVERYWHERE
from gpulint.analysis.plan import Plan
from gpulint.analysis.relevance import Subject, relevant_words, speaking_imports, spread, texts
from gpulint.analysis.values import (
    Arguments,
    Constant,
    Descriptor,
    Function,
    Model,
    Traced,
    Unknown,
    UserClass,
    Value,
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
    for function, owner in _entries(interp, scope, words):
        if id(function.definition) in interp.entered:
            continue
        mark = interp.state.mark()
        interp.step_limit = min(interp.steps + MAX_ENTRY_STEPS, 2 * MAX_STEPS)
        interp.frame = interp.module_frame.entry()
        interp.state.write(interp.runtime, "state", Unknown(("runtime",)))
        try:
            _run_entry(interp, function, owner)
        except Exhausted:
            interp.plan.is_complete = False
            interp.plan.reached("steps", Site(scope.path, function.definition.number))
        except Halts:
            pass
        _reset(interp)
        interp.state.take_back(mark)


def _entries(
    interp: Interpreter, scope: ModuleScope, words: frozenset[str] | None
) -> list[tuple[Function, UserClass | None]]:
    """Functions of the file, those first that no other one names: they are more likely callers than callees."""
    candidates: list[tuple[Function, UserClass | None]] = []
    for value in list(scope.globals.values()):
        if (function := _function_of(value)) is not None and function.module is scope:
            candidates.append((function, None))
    for cls in interp.plan.classes.values():
        if cls.module is scope:
            candidates += [(function, cls) for function in _methods(cls)]
    named = {
        id(function.definition): (function.name, interp.words_of(function.definition)) for function, _ in candidates
    }
    if words is not None:
        speaking = words | speaking_imports(interp.project, scope.path, words)
        relevant = spread(named, speaking)
        relevant |= {identity for identity, (name, _) in named.items() if name in words}
        inheriting = {cls for _, cls in candidates if cls is not None and not _bases(cls).isdisjoint(speaking)}
        candidates = [pair for pair in candidates if id(pair[0].definition) in relevant or pair[1] in inheriting]
    mentions = Counter(name for _, own in named.values() for name in own)

    def is_named(function: Function) -> bool:
        own = function.name in named[id(function.definition)][1]
        return mentions[function.name] > own

    return sorted(candidates, key=lambda pair: is_named(pair[0]))


def _methods(cls: UserClass) -> Iterator[Function]:
    """The methods of a class: its own, and those of bases in other files, which may call its own."""
    for one in cls.classes:
        if one is cls or one.module is not cls.module:
            for name, value in one.namespace.items():
                if (function := _function_of(value)) is not None and (one is cls or cls.find(name) == (value, one)):
                    yield function


def _bases(cls: UserClass) -> set[str]:
    """The names of the program's classes from which a class inherits."""
    return {base.name for base in cls.classes[1:]}


def _function_of(value: object) -> Function | None:
    if isinstance(value, (Traced, Descriptor)):
        return _function_of(value.function)
    return value if isinstance(value, Function) and isinstance(value.definition, ir.FunctionDef) else None


def _run_entry(interp: Interpreter, function: Function, owner: UserClass | None) -> None:
    site = Site(function.module.path, function.definition.number)
    unknown = Arguments((), {}, True)
    if owner is None:
        interp.call_entry(_as_bound(interp, function), unknown, site)
        return
    receiver = members.unmade(interp, owner, site)
    if id(function.definition) in interp.entered:
        return
    callbacks.prepared(interp, receiver, function, site)
    callbacks.begins(interp, owner, function)
    if isinstance(receiver, Model) and function.name in _TRACED_BY_KERAS:
        interp.context = interp.context._replace(maybe_traced=True)
    from gpulint.analysis.calls import with_receiver

    interp.call_entry(_as_bound(interp, function), with_receiver(receiver, unknown), site, receiver)


_TRACED_BY_KERAS = frozenset({"predict_step", "test_step", "train_step"})
"""Methods of a model that Keras calls, compiled unless told otherwise."""


def _as_bound(interp: Interpreter, function: Function) -> Value:
    """The function as its module or class finally has it: perhaps wrapped in tf.function."""
    home = function.owner.namespace if function.owner is not None else function.module.globals
    value = home.get(function.name)
    return value if isinstance(value, Traced) and _function_of(value) is function else function


def run_import(
    project: Project, path: str, dotted: str, target: str, depth: int
) -> tuple[ModuleScope, str, Site | None] | None:
    """Run a module as an import does, once for the project: its scope, and what that did to the runtime.

    None when it cannot be read. A module that is being imported already is given as far as it got.
    """
    if path not in project.scopes:
        syntax = project.syntax_of(path)
        if syntax is None:
            return None
        name = dotted or os.path.splitext(os.path.basename(path))[0]
        scope = ModuleScope(syntax, name, is_graph_mode(syntax, target))
        project.scopes[path] = (scope, "no", None)
        interp = Interpreter(project, scope, Plan(path, target))
        interp.step_limit = MAX_ENTRY_STEPS
        interp.import_depth = depth
        try:
            interp.execute(syntax.body)
        except (Exhausted, Halts):
            pass
        state = interp.runtime["state"]
        since = interp.runtime["since"]
        project.scopes[path] = (
            scope,
            str(state.value) if isinstance(state, Constant) else "no",
            since.value if isinstance(since, Constant) and isinstance(since.value, Site) else None,
        )
    return project.scopes[path]
