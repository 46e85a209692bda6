"""Running a file as a program: its body, then whatever nobody called."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache

from gpulint.analysis import callbacks, datasets, members, process
from gpulint.analysis.contexts import Context
from gpulint.analysis.control import NORMAL, Exhausted, Halts
from gpulint.analysis.entries import Entry, entries
from gpulint.analysis.graph_mode import is_eager, is_graph_mode
from gpulint.analysis.interpreter import MAX_ENTRY_STEPS, MAX_STEPS_OF_ALL, Interpreter
from gpulint.analysis.modules import ModuleRun, ModuleScope, Project
from gpulint.analysis.paths import EVERYWHERE
from gpulint.analysis.plan import Plan
from gpulint.analysis.relevance import Relevance, Relevant, Subject, texts
from gpulint.analysis.unrunnable import raises_at_import
from gpulint.analysis.values import (
    Arguments,
    Model,
    Unknown,
)
from gpulint.places import Site
from gpulint.sources.source import Source
from gpulint.syntax import ir
from gpulint.syntax.enclosing import body_of, within
from gpulint.syntax.parse import parse


def analyse(source: Source, project: Project, target: str, subjects: Iterable[Subject] | None = None) -> Plan:
    """Run one file abstractly and say what it will do. Raises CannotParse.

    Where the program speaks of none of the subjects, or ends at its imports, nothing is run and the Plan is empty. None
    runs everything.
    """
    relevance = Relevance(project, source, subjects) if subjects is not None else None
    wanted = relevance.of() if relevance is not None else None
    if wanted is not None and not wanted.words:
        return Plan(source.path, target)
    syntax = parse(source)
    project.keep(syntax)
    if source.cells is None and raises_at_import(project, syntax):
        return Plan(source.path, target)
    project.is_eager = is_eager(syntax)
    scope = ModuleScope(syntax, "__main__", is_graph_mode(project, syntax, target))
    if relevance is not None and scope.graph_mode:
        wanted = relevance.of(graph_mode=True)
        if not wanted.words:
            return Plan(source.path, target, graph_mode=True)
    plan = Plan(syntax.path, target, graph_mode=scope.graph_mode, referenced=syntax.words)
    plan.texts = cache(lambda: tuple(texts(project, source)))
    plan.is_passed_by = lambda definition: _has_with_not_reached(project, plan, definition)
    interp = Interpreter(project, scope, plan)

    plan.release = interp.release
    _run_body(interp, syntax)
    _run_entries(interp, scope, wanted)
    return plan


def _has_with_not_reached(project: Project, plan: Plan, definition: Site | None) -> bool:
    """As `Plan.is_passed_by`."""
    path = definition.path if definition is not None else plan.path
    syntax = project.syntax_of(path)
    if syntax is None:
        return False
    body = body_of(syntax, definition.node) if definition is not None else syntax.body
    return any(
        not isinstance(manager, ir.Call) and Site(path, manager.number) not in plan.entered
        for statement in within(body)
        if isinstance(statement, ir.With)
        for manager, _ in statement.items
    )


def _run_body(interp: Interpreter, syntax: ir.Module) -> None:
    try:
        if interp.execute(syntax.body) == NORMAL:
            interp.plan.demanded = interp.path
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


def _run_entries(interp: Interpreter, scope: ModuleScope, wanted: Relevant | None) -> None:
    """Run functions and methods that the program itself never calls, with unknown arguments. What some of them fill in
    is there for the others."""
    for entry, fills in entries(interp, scope, wanted):
        if id(entry.own.definition) in interp.entered:
            continue
        mark = interp.state.mark()
        interp.state.apply(interp.filled)
        interp.step_limit = min(interp.steps + MAX_ENTRY_STEPS, MAX_STEPS_OF_ALL)
        interp.frame = interp.module_frame.entry()
        interp.state.write(interp.runtime, "state", Unknown(("runtime",)))
        process.as_imported(interp)
        try:
            _run_entry(interp, entry)
            interp.settle()
            if fills:
                interp.filled = interp.made_since(mark)
        except Exhausted:
            interp.plan.is_complete = False
            interp.plan.reached("steps", entry.site)
        except Halts:
            pass
        _reset(interp)
        interp.state.take_back(mark)


def _run_entry(interp: Interpreter, entry: Entry) -> None:
    unknown = Arguments((), {}, True)
    if entry.owner is None:
        datasets.given_away(interp, interp.call_entry(entry.called, unknown, entry.site), entry.own)
        return
    receiver = members.unmade(interp, entry.owner, entry.site)
    if id(entry.own.definition) in interp.entered:
        return
    callbacks.prepared(interp, receiver, entry.own, entry.site)
    callbacks.begins(interp, entry.owner, entry.own)
    if isinstance(receiver, Model) and entry.own.name in _TRACED_BY_KERAS:
        interp.context = interp.context._replace(maybe_traced=True)
    from gpulint.analysis.calls import with_receiver

    given = interp.call_entry(entry.called, with_receiver(receiver, unknown), entry.site, receiver)
    datasets.given_away(interp, given, entry.own)


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
        scope = ModuleScope(syntax, name, is_graph_mode(project, syntax, target, project.is_eager))
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
