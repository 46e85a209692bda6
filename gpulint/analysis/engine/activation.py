"""Activations: running the body of a function, or reusing the result of an earlier run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpulint.analysis.domain.changing_numbers import differ_in_numbers
from gpulint.analysis.domain.completion import NORMAL, Exhausted, PathEnds
from gpulint.analysis.domain.context import Caller, Context
from gpulint.analysis.domain.path_conditions import compatible
from gpulint.analysis.domain.store import alternatives, common_path, join, make_exclusive
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.traversal import leaves, leaves_on, rebuilt
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, Union, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.effects import effects_on, effects_within
from gpulint.analysis.domain.values.functions import Function, UserClass
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.engine import type_annotations
from gpulint.analysis.engine.argument_binding import bind
from gpulint.analysis.engine.budget import Thrift
from gpulint.analysis.engine.call_summaries import MAX_FORMULA_RUNS, MAX_IDLE_RUNS, CallSummary, FunctionProfile, Moment
from gpulint.analysis.engine.machine import Frame, Machine
from gpulint.analysis.engine.sequences import EMPTYING
from gpulint.analysis.plan.plan import MAX_REPEATS
from gpulint.places import Site
from gpulint.syntax import ir
from gpulint.syntax.endless import is_endless
from gpulint.syntax.placeholders import is_placeholder

MAX_DEPTH = 12
"""Maximum call depth. A deeper call returns Unknown."""

MAX_RECURSION = 2
"""Maximum number of simultaneous activations of one function."""


def _is_chosen(result: Value, arguments: Arguments) -> bool:
    """Whether a result may have been selected by unknown arguments. Another call with unknown arguments makes its own
    selection."""
    return type(result) is Union and any(type(value) is Unknown for value in arguments.all())


def _identity(machine: Machine, function: Function) -> tuple[int, ...]:
    """Key of a function in the tables of runs. The wrappers that one decorator creates are distinguished by the
    functions that they wrap."""
    around = function.closure[0] if function.closure else {}
    read = machine.project.words_of(function.definition) if around else frozenset()
    given = (value.definition for name, value in around.items() if name in read and isinstance(value, Function))
    return id(function.definition), *map(id, given)


def call_function(
    machine: Machine,
    function: Function,
    arguments: Arguments,
    site: Site,
    receiver: Value | None = None,
    on_yield: Callable[[Value], None] | None = None,
) -> Value:
    """Run a function's body with these arguments, in the caller's context, and join its results."""
    definition = function.definition
    identity = _identity(machine, function)
    passed = _keys(arguments)
    unknown = Unknown(("call", (function.module.path, definition.number), passed))
    caller = machine.frame.caller
    if _is_beyond_limits(machine, definition, identity, site):
        return unknown
    key = (identity, passed, () if function.memoized else _context_key(machine))
    earlier = [run for run in machine.executions.setdefault(key, []) if compatible(run.path, machine.path)]
    history = machine.histories[identity]
    history.arrive(_moment(machine))
    again = on_yield is not None or (history.runs < MAX_FORMULA_RUNS and machine.project.is_formula(definition))
    if not again and _is_known(machine, function, arguments, site, history, earlier):
        return _as_before(machine, history.alike(earlier)) or unknown
    if not again and _is_idle(machine, history, function, arguments):
        return earlier[-1].result if earlier else unknown
    machine.entered.add(id(definition))
    definition_site = function.definition_site
    is_borrowed = function.module.path != machine.plan.path and (caller.known or caller.depth > 0)
    if is_borrowed:
        machine.plan.called_elsewhere.add(definition_site)
    history.runs += 1
    history.recent += 1
    base = machine.path
    noted, happened, effects, operations = (
        machine.event_count,
        machine.significant_event_count,
        len(machine.effects),
        machine.operations,
    )
    frame = machine.frame_for(
        function,
        Caller(
            site,
            function.name,
            caller,
            caller.known,
            caller.depth + 1,
            len(machine.context.loops),
            definition_site,
        ),
        receiver,
    )
    frame.on_yield = on_yield
    before = machine.context
    if function.opaque:
        machine.context = before._replace(maybe_traced=True, decorated=definition_site)
    if function.memoized:
        machine.context = machine.context._replace(loops=())
    bind(frame.locals, function, arguments, symbol_of(unknown), machine)
    frame.arguments = arguments
    machine.active.append(identity)
    steps, depth, mark = machine.budget.taken, len(machine.active), machine.state.mark()
    try:
        result = run_frame(machine, frame, definition)
        if type(result) is Unknown and isinstance(definition, ir.FunctionDef):
            result = type_annotations.value(machine, definition.returns, function.module, site) or result
    finally:
        del machine.active[depth - 1 :]
        history.steps += machine.budget.taken - steps
        if function.opaque:
            machine.context = machine.context._replace(maybe_traced=before.maybe_traced, decorated=before.decorated)
        if function.memoized:
            machine.context = machine.context._replace(loops=before.loops)
    if is_borrowed and not frame.is_given_up:
        machine.plan.completed.add(definition_site)
    did = effects_within(machine.effects[effects:], base)
    run = CallSummary(machine.path, result, did, machine.operations - operations, _iteration(machine), _moment(machine))
    machine.executions[key].append(run)
    is_plain = all(leaf.is_plain for leaf in leaves_on(machine.path, result))
    did_nothing = machine.event_count == noted and result.is_plain
    history.idle += did_nothing and not machine.state.has_changed(mark, frame.locals)
    history.makes |= not is_plain or any(isinstance(value, (Function, UserClass)) for value in arguments.all())
    history.computes &= is_plain and machine.significant_event_count == happened
    history.last = run
    return result


def _is_beyond_limits(
    machine: Machine, definition: ir.FunctionDef | ir.Lambda, identity: tuple[int, ...], site: Site
) -> bool:
    """Whether the body of a function is not run at this depth, or has nothing to run."""
    caller = machine.frame.caller
    if is_placeholder(definition) or (machine.frame.module.graph_mode and caller.depth >= 1):
        return True
    if machine.budget.thrift is Thrift.NO_CALLS:
        return True
    if caller.depth >= MAX_DEPTH or machine.active.count(identity) >= MAX_RECURSION:
        machine.plan.reached("call depth", site)
        machine.plan.is_complete = machine.plan.is_complete and caller.depth < MAX_DEPTH
        return True
    return False


def _is_known(
    machine: Machine,
    function: Function,
    arguments: Arguments,
    site: Site,
    history: FunctionProfile,
    earlier: list[CallSummary],
) -> bool:
    """Whether the earlier runs with the same arguments tell what a call does, or no further run is worth its steps."""
    is_known = len(earlier) >= (1 if function.memoized else MAX_REPEATS)
    if is_known and not function.memoized and len(earlier) == MAX_REPEATS:
        is_known = any(run.iteration == _iteration(machine) for run in earlier)
    if is_known and not function.memoized:
        is_known = not (history.may_go_on and history.is_missing(earlier, _moment(machine)))
    if is_known and not function.memoized and history.makes and history.may_go_on:
        is_known = not _is_chosen(earlier[-1].result, arguments)
    if not is_known and not earlier and not history.may_go_on:
        machine.plan.reached("runs of one function", site)
    is_settled = history.is_settled and not _may_empty(machine, function.definition, arguments)
    return is_known or not history.may_go_on or is_settled


def _iteration(machine: Machine) -> int:
    """Index of the present iteration of the nearest enclosing loop that is not unrolled. The calls of one iteration
    would otherwise use up the runs meant for all iterations."""
    return next((loop.iteration for loop in reversed(machine.context.loops) if not loop.unrolled), 0)


def _moment(machine: Machine) -> Moment:
    loop = next((one for one in machine.context.loops if not one.unrolled), None)
    return Moment(machine.entry_points, loop.entry, loop.iteration) if loop else Moment(machine.entry_points, 0, 0)


def _as_before(machine: Machine, run: CallSummary | None) -> Value | None:
    """Result of an earlier run, whose ops and effects are recorded once more."""
    if run is None:
        return None
    machine.effects += effects_on(run.effects, machine.path)
    machine.operations += run.operations
    return run.result


def _may_empty(machine: Machine, definition: ir.FunctionDef | ir.Lambda, arguments: Arguments) -> bool:
    """Whether a call may take values out of a container that it is given."""
    return not machine.project.words_of(definition).isdisjoint(EMPTYING) and any(
        isinstance(one, Items | Mapping) for value in arguments.all() for _, one in alternatives(value, machine.path)
    )


def _is_idle(machine: Machine, history: FunctionProfile, function: Function, arguments: Arguments) -> bool:
    """Whether a further run of a function would add nothing.

    This is so if its last runs had no effect of interest, its body names nothing that is tracked, and none of its
    arguments could change that. Constructors are always run.
    """
    definition = function.definition
    return (
        history.idle >= MAX_IDLE_RUNS
        and not (isinstance(definition, ir.FunctionDef) and definition.name == "__init__")
        and machine.project.words_of(definition).isdisjoint(machine.library.words)
        and all(value.is_plain or type(value) is Instance for value in arguments.all())
        and not any(machine.library.is_tracked(leaf) for value in arguments.all() for leaf in leaves(value))
    )


def run_frame(machine: Machine, frame: Frame, definition: ir.FunctionDef | ir.Lambda) -> Value:
    """Run a body in a new frame. Its changes to state outside the frame persist. Raises `PathEnds` if no path
    returns."""
    outer, base, context = machine.frame, machine.path, machine.context
    loops, machine.loops = machine.loops, []
    machine.frame = frame
    frame.mark = machine.state.mark()
    frame.path = base
    frame.branches = machine.branches
    depth = len(machine.active)
    outside = machine.budget.begin_call(frame.is_relevant)
    try:
        if isinstance(definition, ir.Lambda):
            machine.return_value(machine.choose(machine.evaluate(definition.body)))
        elif machine.execute(definition.body) == NORMAL:
            machine.join_diverged()
            machine.return_value(NONE)
    except PathEnds:
        pass
    except Exhausted:
        if not machine.budget.may_abandon(outside):
            raise
        machine.plan.is_complete = False  # even without events, a function can contain a word that a rule searches for
        if frame.is_relevant:
            machine.plan.reached("steps", frame.caller.site or Site(machine.plan.path, 0))
        machine.state.take_back(frame.mark)
        machine.path, machine.context, machine.branches, machine.diverged = base, context, frame.branches, []
        del machine.active[depth:]
        frame.is_given_up = True
        return Unknown(("result", frame.caller.site, id(definition)))
    finally:
        machine.frame, machine.loops = outer, loops
        machine.budget.end_call(outside)
    if frame.returns_here:
        ((outcome, value, left),) = frame.exits
        machine.path = outcome.path
        machine.context = _after(machine, frame, context, left)
        return _result(frame, definition, value)
    machine.state.take_back(frame.mark)
    machine.path, machine.context = base, context
    if not frame.exits:
        if frame.yielded:  # a generator that raises after its last value
            return _result(frame, definition, NONE)
        raise PathEnds
    outcomes = make_exclusive([outcome for outcome, _, _ in frame.exits], base)
    machine.path = common_path(outcomes)
    contexts = [_after(machine, frame, context, left) for _, _, left in frame.exits]
    if any(one != contexts[0] for one in contexts):
        machine.diverged = list(zip(outcomes, contexts, strict=True))
    else:
        machine.state.join(outcomes, base)
        machine.context = contexts[0]
    symbol = ("result", frame.caller.site, id(definition))
    values = [value for _, value, _ in frame.exits]
    value = join([(outcome.path - base, value) for outcome, value in zip(outcomes, values, strict=True)], symbol)
    return _result(frame, definition, value if isinstance(value, Value) else Unknown(symbol))


def _after(machine: Machine, frame: Frame, before: Context, end: Context) -> Context:
    """Context after a call: that before it, unless the function entered scopes by hand and left them open."""
    if not frame.enters:
        return before
    machine.frame.enters = True
    return before._replace(scopes=end.scopes, devices=end.devices)


def _result(frame: Frame, definition: ir.FunctionDef | ir.Lambda, value: Value) -> Value:
    """Result of a call whose body returned `value`. For a generator function, this is a generator."""
    if isinstance(definition, ir.FunctionDef) and definition.is_generator:
        symbol = ("result", frame.caller.site, id(definition))
        generator = Items("generator", None, _yielded(frame, symbol), symbol, frame.yield_sources)
        generator.is_endless = is_endless(definition)
        return generator
    return value


def _yielded(frame: Frame, symbol: Any) -> Value | None:
    """Value that represents everything a generator yields: the first yielded value if all have the same structure."""
    if not frame.yielded:
        return None
    first = frame.yielded[0][1]
    if any(differ_in_numbers(symbol_of(first), symbol_of(value)) for _, value in frame.yielded):
        return Unknown(("index", symbol))
    if isinstance(first, Constant) or any(_shape(value) != _shape(first) for _, value in frame.yielded):
        joined = join(frame.yielded, symbol)
        return joined if isinstance(joined, Value) else None
    return first


def _shape(value: Value) -> Symbol:
    """Structure of a value: the kinds of its leaves, at their positions."""

    def made(items: Items, parts: tuple[Value, ...]) -> Value:
        return Unknown((items.kind, *(symbol_of(part) for part in parts)))

    return symbol_of(rebuilt(value, lambda one: Unknown(type(one)), made))


def _keys(arguments: Arguments) -> Any:
    return (
        tuple(_key(value) for value in arguments.positional),
        tuple((name, _key(value)) for name, value in arguments.keywords.items()),
    )


def _key(value: Value) -> Any:
    """The part of an argument that can change what a function does: the content of constants, the identity of
    objects."""
    if isinstance(value, Unknown):
        return "?"
    return value.call_key or symbol_of(value)


def _context_key(machine: Machine) -> Any:
    context = machine.context
    return (
        context.devices,
        tuple(scope.strategy.serial for scope in context.scopes),
        context.replica,
        context.traced,
        context.jitted,
        tuple(loop.site for loop in context.loops),
        bool(context.guards),
    )
