"""Analysis of a file as a program: its body, then the functions that nothing in it calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache, partial

from gpulint.analysis.domain.completion import NORMAL, Exhausted, PathEnds
from gpulint.analysis.domain.context import Context
from gpulint.analysis.domain.module_scope import ModuleScope
from gpulint.analysis.domain.path_conditions import EVERYWHERE
from gpulint.analysis.domain.values.base import Arguments, Unknown
from gpulint.analysis.domain.values.functions import Function
from gpulint.analysis.domain.values.objects import Model
from gpulint.analysis.driver import process
from gpulint.analysis.driver.entry_points import Entry, entries
from gpulint.analysis.engine.budget import ENTRY_RESERVE, MAX_ENTRY_STEPS
from gpulint.analysis.engine.interpreter import Interpreter
from gpulint.analysis.engine.library import LibrarySemantics
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.libraries import Libraries
from gpulint.analysis.models.tensorflow import keras_callbacks, tf_data, tf_function
from gpulint.analysis.plan import events
from gpulint.analysis.plan.plan import Plan
from gpulint.analysis.project.graph_mode import is_eager, is_graph_mode
from gpulint.analysis.project.import_failures import missing_names
from gpulint.analysis.project.modules import ModuleRun, Project
from gpulint.analysis.project.slicing import Relevance, Relevant, Subject, texts
from gpulint.places import Site
from gpulint.sources.source import Source
from gpulint.syntax import ir, walk
from gpulint.syntax.enclosing import body_of, own_statements
from gpulint.syntax.parse import parse


def analyse(
    source: Source,
    project: Project,
    target: str,
    subjects: Iterable[Subject] | None = None,
    libraries: Callable[[Machine], LibrarySemantics] = Libraries,
) -> Plan:
    """Run one file abstractly and return its plan. Raises `CannotParse`.

    Nothing is run and the plan is empty if the program is about none of the subjects. With `subjects` None, everything
    is run. `libraries` creates the semantics of library names.
    """
    relevance = Relevance(project, source, subjects) if subjects is not None else None
    wanted = relevance.of() if relevance is not None else None
    if wanted is not None and not wanted.words:
        return Plan(source.path, target)
    syntax = parse(source)
    project.keep(syntax)
    project.is_eager = is_eager(syntax)
    scope = ModuleScope(syntax, "__main__", is_graph_mode(project, syntax, target))
    if relevance is not None and scope.graph_mode:
        wanted = relevance.of(graph_mode=True)
        if not wanted.words:
            return Plan(source.path, target, graph_mode=True)
    plan = Plan(syntax.path, target, graph_mode=scope.graph_mode, referenced=syntax.words)
    plan.texts = cache(lambda: tuple(texts(project, source)))
    plan.code_of = project.code_of
    plan.has_unreached_with = lambda definition: _has_with_not_reached(project, plan, definition)
    machine = Interpreter(project, scope, plan, libraries, _run_module)
    if wanted is not None:
        machine.is_relevant = partial(_is_relevant, wanted)
    plan.release = machine.release
    if source.cells is None:
        for one in missing_names(project, syntax):
            site = machine.site(one.statement)
            machine.emit(events.ImportFailed(site, machine.where(), one.module, one.name, one.file))
    _run_body(machine, syntax)
    _run_entries(machine, scope, wanted)
    plan.events, plan.is_sealed = tuple(machine.events), True
    return plan


def _is_relevant(wanted: Relevant, function: Function) -> bool:
    owner = f"{function.owner.definition.name}." if function.owner is not None else ""
    node = (function.module.path, f"{owner}{function.name}")
    return wanted.has(node) or not wanted.known(node)


def _has_with_not_reached(project: Project, plan: Plan, definition: Site | None) -> bool:
    """Implementation of `Plan.has_unreached_with`."""
    path = definition.path if definition is not None else plan.path
    syntax = project.syntax_of(path)
    if syntax is None:
        return False
    body = body_of(syntax, definition.node) if definition is not None else syntax.body
    return any(
        not isinstance(manager, ir.Call) and Site(path, manager.number) not in plan.entered
        for statement in own_statements(body)
        if isinstance(statement, ir.With)
        for manager, _ in statement.items
    )


def _run_body(machine: Machine, syntax: ir.Module) -> None:
    try:
        if machine.execute(syntax.body) == NORMAL:
            machine.plan.required = machine.path
    except Exhausted:
        machine.plan.is_complete = False
        machine.plan.reached("steps", Site(syntax.path, 0))
    _reset(machine)


def _reset(machine: Machine) -> None:
    """Leave all scopes and paths after an entry point. Its definitions stay."""
    module = machine.module_frame
    machine.frame = module
    machine.join_diverged()
    machine.path, machine.context = EVERYWHERE, Context()
    machine.loops, machine.active, machine.diverged = [], [], []
    machine.executions.clear()


def _run_entries(machine: Machine, scope: ModuleScope, wanted: Relevant | None) -> None:
    """Run functions and methods that the program itself never calls, with unknown arguments. What some of them assign
    for others is kept for these."""
    machine.budget.begin_entries(walk.size_of(scope.syntax))
    left = list(entries(machine, scope, wanted))
    while left:
        entry, fills = left.pop(0)
        if id(entry.own.definition) in machine.entered:
            continue
        machine.entry_points += 1
        mark = machine.state.mark()
        machine.state.apply(machine.filled)
        is_last = all(id(one.own.definition) in machine.entered for one, _ in left)
        machine.budget.grant_entry(is_last=is_last)
        machine.frame = machine.module_frame.entry()
        machine.state.write(machine.library_state.runtime, "state", Unknown(("runtime",)))
        process.configure_as_imported(machine)
        try:
            _run_entry(machine, entry)
            machine.join_diverged()
            if fills:
                machine.filled = machine.made_since(mark)
        except Exhausted:
            machine.plan.is_complete = False
            machine.plan.reached("steps", entry.site)
        except PathEnds:
            pass
        _reset(machine)
        machine.state.take_back(mark)


def _run_entry(machine: Machine, entry: Entry) -> None:
    unknown = Arguments((), {}, True)
    if entry.owner is None:
        tf_data.consume_elsewhere(
            machine, tf_function.call_entry(machine, entry.called, unknown, entry.site), entry.own
        )
        return
    receiver = machine.instantiate_unknown(entry.owner, entry.site)
    if id(entry.own.definition) in machine.entered:
        return
    keras_callbacks.call_beginnings(machine, receiver, entry.own, entry.site)
    keras_callbacks.enter_batch_method(machine, entry.owner, entry.own)
    if isinstance(receiver, Model) and entry.own.name in _TRACED_BY_KERAS:
        machine.context = machine.context._replace(maybe_traced=True)
    given = tf_function.call_entry(machine, entry.called, unknown.with_receiver(receiver), entry.site, receiver)
    tf_data.consume_elsewhere(machine, given, entry.own)


_TRACED_BY_KERAS = frozenset({"predict_step", "test_step", "train_step"})
"""Methods of a model that Keras calls, compiled by default."""


def _run_module(machine: Machine, path: str, dotted: str, site: Site | None) -> ModuleScope | None:
    """Import a module for a program and apply its effects to the program."""
    run = run_import(machine.project, path, dotted, machine.plan.target, machine.import_depth + 1)
    if run is None:
        return None
    if site is not None:
        process.replay(machine, run.effects, site)
    process.replay_initialisation(machine, run.effects, path)
    process.replay_calls(machine, run.effects)
    return run.scope


def run_import(project: Project, path: str, dotted: str, target: str, depth: int) -> ModuleRun | None:
    """Run a module as an import does, once per project. Returns its scope and its effects on the process.

    None if it cannot be read. If the module is already being imported, the result is its state so far.
    """
    if path not in project.runs:
        syntax = project.syntax_of(path)
        if syntax is None:
            return None
        name = dotted or os.path.splitext(os.path.basename(path))[0]
        scope = ModuleScope(syntax, name, is_graph_mode(project, syntax, target, project.is_eager))
        project.runs[path] = ModuleRun(scope)
        machine = Interpreter(project, scope, Plan(path, target), Libraries, _run_module)
        machine.budget.grant(MAX_ENTRY_STEPS, ENTRY_RESERVE)
        machine.import_depth = depth
        try:
            machine.execute(syntax.body)
        except (Exhausted, PathEnds):
            pass
        project.runs[path] = ModuleRun(scope, process.effects_of(machine))
    return project.runs[path]
