"""Execution of loops: which iterations are run, and how their ends and exits are joined."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gpulint.analysis.domain.completion import ABRUPT, NORMAL
from gpulint.analysis.domain.context import Loop
from gpulint.analysis.domain.path_conditions import Path, compatible
from gpulint.analysis.domain.store import Outcome, make_exclusive
from gpulint.analysis.domain.traversal import rebuilt, snapshot
from gpulint.analysis.domain.truth import truth
from gpulint.analysis.domain.values.base import PartialString, Union, Unknown, Value
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.engine import assignment, name_lookup, special_methods
from gpulint.analysis.engine.iteration import iterate
from gpulint.analysis.engine.machine import LoopRecord, Machine
from gpulint.analysis.plan.events import LoopEntered
from gpulint.syntax import ir, walk

MAX_REPEATED_DEPTH = 2
"""Maximum nesting depth of loops whose body is run for two iterations, so that the second one sees the effects of the
first. Deeper loops are run for one."""


def exec_break(machine: Machine, node: ir.Break) -> int:
    if machine.loops:
        record = machine.loops[-1]
        record.breaks.append(Outcome(machine.path, machine.state.changes_since(record.mark)))
    return ABRUPT


def exec_continue(machine: Machine, node: ir.Continue) -> int:
    if machine.loops:
        record = machine.loops[-1]
        record.continues.append(Outcome(machine.path, machine.state.changes_since(record.mark)))
    return ABRUPT


def exec_for(machine: Machine, node: ir.For) -> int:
    iterable = machine.choose(machine.evaluate(node.iterable))
    iterable = special_methods.iter_of(machine, iterable, machine.site(node.iterable))
    elements, exact = iterate(machine, iterable, node.iterable)
    loop = Loop(machine.site(node), snapshot(iterable), exact, {}, tuple(name_lookup.bound_names(node.target)))
    machine.library.iterated(iterable, "loop", machine.site(node.iterable), loop.site)
    starts: list[Value] = elements
    if not exact:
        iterations = range(2 if len(machine.loops) < MAX_REPEATED_DEPTH else 1)
        starts = [_in_iteration(machine, element, iteration) for iteration in iterations for element in elements]

    def start(element: Value) -> bool:
        assignment.assign(
            machine, node.target, special_methods.next_of(machine, iterable, machine.site(node.iterable), element)
        )
        return True

    return _loop(machine, node, loop, [partial(start, element) for element in starts])


def _in_iteration(machine: Machine, element: Value, iteration: int) -> Value:
    """Value that represents the elements of a loop in one iteration. It differs from that of the iteration before, so
    that conditions on the two are independent."""
    if iteration == 0:
        return element

    def change(one: Value) -> Value:
        if isinstance(one, Unknown):
            return Unknown(("in_iteration", iteration, one.symbol))
        if isinstance(one, PartialString):
            return PartialString(one.parts, ("in_iteration", iteration, one.symbol))
        return machine.library.in_iteration(one, iteration)

    def made(value: Value) -> Value:
        return rebuilt(value, change, lambda items, parts: Items(items.kind, parts))

    if isinstance(element, Union):
        return Union(tuple((guard, made(option)) for guard, option in element.alternatives))
    return made(element)


def exec_while(machine: Machine, node: ir.While) -> int:
    loop = Loop(machine.site(node), None, False, {})

    def start() -> bool:
        *first, last = _conjuncts(node.test)
        for test in first:
            if not _is_met(machine, test, is_read=True):
                return False
            *outer, present = machine.context.loops
            machine.context = machine.context._replace(loops=(*outer, present._replace(start=machine.path)))
        return _is_met(machine, last, is_read=False)

    return _loop(machine, node, loop, [start] * (2 if len(machine.loops) < MAX_REPEATED_DEPTH else 1))


def _conjuncts(test: ir.Expr) -> list[ir.Expr]:
    """Operands of a conjunction, in order. Each iteration has passed all of them."""
    if isinstance(test, ir.Boolean) and test.operator == "and":
        return [*_conjuncts(test.left), *_conjuncts(test.right)]
    return [test]


def _is_met(machine: Machine, test: ir.Expr, *, is_read: bool) -> bool:
    """Continue on the path where an operand of a loop's test holds. Returns whether there is one."""
    value = machine.evaluate(test)
    if is_read:
        machine.library.value_read(machine.choose(value), "bool", test)
    yes, _ = machine.split(value)
    if yes is None:
        return False
    machine.library.loop_decided(yes, machine.site(test))
    machine.path |= yes
    return True


def _continue_on(continuations: list[tuple[int, Path]], iteration: int, test: Path) -> None:
    """Add the test that a further iteration passes to the paths on which the one before it ends."""
    continuations[:] = [
        (number, end | test if number == iteration else end)
        for number, end in continuations
        if number != iteration or compatible(end, test)
    ]


def _loop(machine: Machine, node: ir.For | ir.While, loop: Loop, starts: list[Callable[[], bool]]) -> int:
    """Run the body once per iteration, then the `else` part, then join the exits."""
    before, base = machine.context, machine.path
    continuations: list[tuple[int, Path]] = []
    loop = loop._replace(
        entry=machine.budget.taken,
        iterations=len(starts),
        flags=len(before.flags),
        handlers=len(before.handlers),
        is_traced=before.traced is not None,
        continuations=continuations,
        before=base,
    )
    machine.context = before._replace(loops=(*before.loops, loop), guards=())
    machine.emit(LoopEntered(loop.site, machine.where(), loop))
    outermost = machine.state.mark()
    breaks: list[Outcome] = []
    falls = True
    for iteration, start in enumerate(starts):
        record = LoopRecord(machine.state.mark())
        machine.loops.append(record)
        machine.branches += 1
        machine.path = base
        machine.context = before._replace(
            loops=(*before.loops, loop._replace(start=base, iteration=iteration)), guards=()
        )
        completion: int | None = None
        try:
            if start():
                present = loop._replace(start=machine.path, iteration=iteration)
                if isinstance(node, ir.While):
                    _continue_on(continuations, iteration - 1, machine.path - base)
                machine.context = before._replace(loops=(*before.loops, present), guards=())
                completion = machine.execute(node.body)
                machine.join_diverged()
        finally:
            machine.loops.pop()
            machine.branches -= 1
        if completion is None:
            break
        changes = machine.state.changes_since(record.mark)
        machine.state.take_back(record.mark)
        ends = list(record.continues)
        if completion == NORMAL:
            ends.append(Outcome(machine.path, changes))
        continuations += [(iteration, end.path) for end in ends]
        machine.path = base
        if record.breaks:
            sofar = machine.state.changes_since(outermost)
            breaks += [Outcome(out.path, {**sofar, **out.changes}) for out in record.breaks]
        machine.context = before._replace(loops=(*before.loops, loop), guards=())
        if not ends:
            falls = False
            break
        machine.state.join(ends, base)
        if all(_is_after_error(end.path - base) for end in ends):
            break  # the loop retries until it succeeds once
    machine.context, machine.path = before, base
    if falls and isinstance(node, ir.While):
        _narrow(machine, node.test)
    if falls and node.orelse:
        falls = machine.execute(node.orelse) == NORMAL
    if breaks:
        changes = machine.state.changes_since(outermost)
        machine.state.take_back(outermost)
        ends = [*breaks, Outcome(machine.path, changes)] if falls else breaks
        machine.path = base
        machine.state.join(make_exclusive(ends, base), base)
        return NORMAL
    return NORMAL if falls else ABRUPT


def _narrow(machine: Machine, test: ir.Expr) -> None:
    """Remove alternatives of variables for which the failed test of a loop would hold: `while line is None`."""
    below = [test, *walk.below(test)]
    if any(isinstance(node, ir.Call) for node in below):
        return
    for name in dict.fromkeys(node.id for node in below if isinstance(node, ir.Name)):
        scope = machine.frame.declared.get(name, machine.frame.locals)
        if not isinstance(value := scope.get(name), Union):
            continue
        ends = [guard for guard, holds in truth(machine.evaluate(test), machine.path) if holds is not True]
        left = tuple(one for one in value.alternatives if any(compatible(one[0], guard) for guard in ends))
        if 0 < len(left) < len(value.alternatives):
            machine.state.write(scope, name, Union(left) if len(left) > 1 else left[0][1])


def _is_after_error(path: Path) -> bool:
    """Whether a path leads through an `except` clause."""
    return any(literal.holds and literal.condition.operator == "handler" for literal in path)
