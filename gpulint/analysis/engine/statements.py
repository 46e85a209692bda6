"""Execution of each kind of statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpulint.analysis.domain.completion import ABRUPT, NORMAL, PathEnds
from gpulint.analysis.domain.context import Flag, Object
from gpulint.analysis.domain.path_conditions import EVERYWHERE, MAX_CONDITIONS, Condition, Path, literal_of
from gpulint.analysis.domain.truth import compare
from gpulint.analysis.domain.values.base import NONE, Unknown, Value
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import Function
from gpulint.analysis.engine import (
    assignment,
    calls,
    context_managers,
    dicts,
    imports,
    loop_counters,
    loops,
    name_lookup,
    operators,
    sequences,
    transient_tests,
)
from gpulint.analysis.engine.machine import Machine
from gpulint.syntax import endings, ir, walk


def exec_expression(machine: Machine, node: ir.ExpressionStatement) -> int:
    value = machine.evaluate(node.value)
    if isinstance(node.value, ir.Call):
        machine.library.dropped(machine.choose(value), node.value)
    return NORMAL


def exec_assign(machine: Machine, node: ir.Assign) -> int:
    if node.value is None:
        return NORMAL
    value = machine.choose(machine.evaluate(node.value))
    first = node.targets[0]
    if isinstance(node.value, ir.Binary) and walk.is_same_place(first, node.value.left):
        if node.value.operator == "+":
            sequences.rebound(machine, value, machine.site(node))
        if isinstance(first, ir.Name):
            before = machine.choose(machine.evaluate(node.value.left))
            value = loop_counters.variable_as_counter(machine, first, before, value, machine.site(node))
    elif isinstance(first, ir.Name) and loop_counters.is_bounded(first, node.value):
        before = machine.choose(machine.evaluate(first))
        value = loop_counters.variable_as_counter(machine, first, before, value, machine.site(node), is_bounded=True)
    for target in node.targets:
        assignment.assign(machine, target, value)
    return NORMAL


def exec_augmented(machine: Machine, node: ir.AugAssign) -> int:
    """Run `a += b`: a list grows in place, everything else is `a = a + b`."""
    before = machine.choose(machine.evaluate(node.target))
    value = machine.choose(machine.evaluate(node.value))
    if isinstance(before, Items) and before.kind == "list" and node.operator == "+":
        sequences.extend(machine, before, value, machine.site(node))
        return NORMAL
    if machine.library.update_in_place(before, node.operator, value, node):
        return NORMAL
    result = machine.each(
        before,
        lambda a: machine.each(value, lambda b: operators.operate_binary(machine, a, node.operator, b, node), node),
        node,
    )
    assignment.assign(
        machine,
        node.target,
        loop_counters.variable_as_counter(machine, node.target, before, result, machine.site(node)),
    )
    return NORMAL


def exec_delete(machine: Machine, node: ir.Delete) -> int:
    for target in node.targets:
        if isinstance(target, ir.Name):
            machine.state.delete(machine.frame.locals, target.id)
        elif isinstance(target, ir.Subscript):
            container = machine.choose(machine.evaluate(target.value))
            if isinstance(container, Items):
                sequences.clear(machine, container, machine.site(target))
            elif isinstance(container, Mapping):
                machine.state.delete(container.entries, dicts.key_of(machine.choose(machine.evaluate(target.index))))
        elif isinstance(target, ir.Attribute):
            owner = machine.choose(machine.evaluate(target.value))
            if isinstance(owner, Object):
                machine.state.delete(owner.attributes, target.name)
    return NORMAL


def exec_return(machine: Machine, node: ir.Return) -> int:
    value = machine.choose(machine.evaluate(node.value)) if node.value is not None else NONE
    machine.library.returned(value, machine.site(node))
    machine.return_value(value)
    return ABRUPT


def exec_raise(machine: Machine, node: ir.Raise) -> int:
    if node.value is not None:
        machine.evaluate(node.value)
    return ABRUPT


def exec_assert(machine: Machine, node: ir.Assert) -> int:
    test = machine.evaluate(node.test)
    machine.library.value_read(machine.choose(test), "bool", node.test)
    yes, _ = machine.split(test)
    if yes is None:
        return ABRUPT
    if len(machine.path) < MAX_CONDITIONS:
        machine.require(machine.path, yes)
        machine.path |= yes
        machine.assume(yes)
    return NORMAL


def exec_pass(machine: Machine, node: ir.Pass) -> int:
    return NORMAL


def exec_declare(machine: Machine, node: ir.Declare) -> int:
    frame = machine.frame
    for name in node.names:
        scope = frame.module.globals
        if node.kind == "nonlocal":
            scope = next((outer for outer in frame.closure if name in outer), scope)
        frame.declared[name] = scope
    return NORMAL


def exec_if(machine: Machine, node: ir.If) -> int:
    test = machine.choose(machine.evaluate(node.test))
    machine.library.value_read(test, "bool", node.test)
    yes, no = machine.split(test)
    if _is_of_main_program(machine, node.test):
        machine.library.main_program_reached()
    if yes is None or no is None:
        guard, block = (yes, node.body) if yes is not None else (no, node.orelse)
        machine.path |= guard or frozenset()
        is_option = (
            transient_tests.is_of_moment(node.test)
            and not transient_tests.is_asked(machine, node.test)
            and not _is_unused(machine, node, block)
            and not (block is node.body and transient_tests.is_present(machine, node.test))
        )
        if not block or not (is_option or _changes(block, node.test)):
            return machine.execute(block)
        flags = machine.context.flags
        flag = Flag(machine.site(node), transient_tests.is_setting(node.test))
        machine.context = machine.context._replace(flags=(*flags, flag))
        completion = machine.execute(block)
        machine.context = machine.context._replace(flags=flags)
        return completion
    before, base = machine.context, machine.path
    machine.context = before._replace(guards=(*before.guards, machine.site(node)))
    completion = machine.fork(
        [(yes, partial(_branch, machine, node.body, no)), (no, partial(_branch, machine, node.orelse, yes))]
    )
    for block, other in ((node.body, no), (node.orelse, yes)):
        if _is_error(block):
            machine.require(base, other)
    if machine.diverged:
        machine.diverged = [(o, context._replace(guards=before.guards)) for o, context in machine.diverged]
    machine.context = machine.context._replace(guards=before.guards)
    return completion


def _is_of_main_program(machine: Machine, test: ir.Expr) -> bool:
    """Whether a module-level test is on `__name__`. The code under it is not run when other files import this one."""
    return (
        machine.frame is machine.module_frame
        and isinstance(test, ir.Compare)
        and isinstance(test.left, ir.Name)
        and test.left.id == "__name__"
    )


def _branch(machine: Machine, block: Sequence[ir.Statement], other: Path) -> int:
    """Run one branch. If it raises an exception or leaves the loop's body, everything after the `if` has taken the
    other one."""
    skipped = _skipped(machine)
    try:
        completion = machine.execute(block)
    except PathEnds:
        machine.assume(other)
        raise
    if completion == ABRUPT and _skipped(machine) == skipped:
        machine.assume(other)
    return completion


def _is_error(block: Sequence[ir.Statement]) -> bool:
    """Whether a block does nothing but raise an error, as opposed to ending the program or an iteration."""
    *before, last = block or (None,)
    if not isinstance(last, ir.Raise) or last.value is None or not all(isinstance(one, _PLAIN) for one in before):
        return False
    raised = last.value.function if isinstance(last.value, ir.Call) else last.value
    return not (isinstance(raised, ir.Name) and raised.id in _ENDS)


_ENDS = frozenset({"KeyboardInterrupt", "StopIteration", "SystemExit"})
"""Exceptions that are not errors."""

_PLAIN = (ir.Assign, ir.AugAssign, ir.ExpressionStatement)
"""Statements that always fall through."""


def _skipped(machine: Machine) -> int:
    """Number of exits so far that only skip the rest of the loop's body, or of the function outside loops."""
    return len(machine.loops[-1].continues if machine.loops else machine.frame.exits)


def _is_unused(machine: Machine, node: ir.If, block: Sequence[ir.Statement]) -> bool:
    """Whether a block is run if an option is not used: its test is on a parameter of the running function, and holds or
    fails as for the parameter's default."""
    test, definition = node.test, machine.frame.definition
    name = test.left if isinstance(test, ir.Compare) else test
    if not isinstance(name, ir.Name) or not isinstance(definition, ir.FunctionDef):
        return False
    default = next((one.default for one in definition.parameters if one.name == name.id), None)
    if not isinstance(default, ir.Constant) or default.value:
        return False
    if not isinstance(test, ir.Compare):
        return block is node.orelse
    sign, other = test.rest[0]
    is_none = isinstance(other, ir.Constant) and other.value is None is default.value
    return is_none and (sign == "is") == (block is node.body)


def _changes(block: Sequence[ir.Statement], test: ir.Expr) -> bool:
    """Whether a block assigns what its test compares, as in `if count < limit: count += 1`."""
    if not isinstance(test, ir.Compare):
        return False
    targets: list[ir.Expr] = []
    for statement in block:
        if isinstance(statement, ir.Assign):
            targets += statement.targets
        elif isinstance(statement, ir.AugAssign):
            targets.append(statement.target)
    return any(walk.is_same_place(side, target) for side in (test.left, test.rest[0][1]) for target in targets)


def exec_with(machine: Machine, node: ir.With) -> int:
    return context_managers.enter_all(machine, node.items, node.body)


def exec_try(machine: Machine, node: ir.Try) -> int:
    """Run the body with its `else`, or one of the handlers from the state before the body. If no handler lets the
    program continue, the body is run as if there were no `try`."""
    guarding = _guarding(machine, node)
    caught = frozenset(name for handler in guarding for name in _exception_names(handler.type))
    if endings.swallows(node):
        caught |= {"BaseException"}
    condition = Condition("completes", machine.site(node), tuple(sorted(caught)))

    def body() -> int:
        before = machine.context
        if caught:
            machine.context = before._replace(handlers=(*before.handlers, caught))
        completion = machine.execute(node.body)
        machine.context = machine.context._replace(handlers=before.handlers)
        return completion or machine.execute(node.orelse)

    def handle(handler: ir.Handler) -> Callable[[], int]:
        def run() -> int:
            if handler.name is not None:
                name_lookup.store(machine, handler.name, Unknown(("exception", machine.site(handler))))
            return machine.execute(handler.body)

        return run

    completes = frozenset({literal_of(condition, True)}) if caught else EVERYWHERE
    arms: list[tuple[Path, Callable[[], int]]] = [(completes, body)]
    failed = frozenset({literal_of(condition, False)})
    for handler in node.handlers:
        which = Condition("handler", machine.site(handler), tuple(_exception_names(handler.type)))
        arms.append((failed | {literal_of(which, True)}, handle(handler)))
    completion = machine.fork(arms) if node.handlers else body()
    if node.finalbody:
        return machine.execute(node.finalbody) or completion
    return completion


def _guarding(machine: Machine, node: ir.Try) -> list[ir.Handler]:
    """Handlers after which the program may continue. Inside another `try`, these include handlers that raise a
    different error, which that `try` may catch; handlers that only re-raise do not count."""
    is_inside = bool(machine.context.handlers)
    return [one for one in node.handlers if endings.goes_on(one) or (is_inside and endings.turns_error(one))]


def _exception_names(node: ir.Expr | None) -> list[str]:
    """Names of the exceptions that a handler catches; "" for a computed one."""
    if node is None:
        return ["BaseException"]
    if isinstance(node, ir.Sequence_):
        return [name for element in node.elements for name in _exception_names(element)]
    if isinstance(node, ir.Name):
        return [node.id]
    return [node.name if isinstance(node, ir.Attribute) else ""]


def exec_match(machine: Machine, node: ir.Match) -> int:
    subject = machine.choose(machine.evaluate(node.subject))
    for start in range(0, len(node.cases), MAX_CASES):
        ended = _cases(machine, subject, node.cases[start : start + MAX_CASES], 0)
        if ended != NORMAL:
            return ended
    return NORMAL


MAX_CASES = 200
"""Maximum number of cases of a `match` each of which excludes the later ones. Further cases are treated as another
`match` after the first."""


def _cases(machine: Machine, subject: Value, cases: tuple[ir.Case, ...], index: int) -> int:
    if index == len(cases):
        return NORMAL
    case = cases[index]
    yes: Path | None = EVERYWHERE
    no: Path | None = None
    if case.wildcard:
        pass
    elif (value := case.value) is not None:
        test = machine.each(subject, lambda option: compare(option, "==", machine.evaluate(value)), case)
        yes, no = machine.split(test)
    else:
        condition = machine.fresh("case", machine.site(case))
        yes, no = frozenset({literal_of(condition, True)}), frozenset({literal_of(condition, False)})

    def body() -> int:
        for name in case.binds:
            name_lookup.store(machine, name, Unknown(("capture", machine.site(case), name)))
        if case.guard is not None:
            machine.evaluate(case.guard)
        return machine.execute(case.body)

    arms: list[tuple[Path, Callable[[], int]]] = []
    if yes is not None:
        arms.append((yes, body))
    if no is not None:
        arms.append((no, lambda: _cases(machine, subject, cases, index + 1)))
    return machine.fork(arms)


def exec_function(machine: Machine, node: ir.FunctionDef) -> int:
    defined = Function(
        node,
        machine.frame.module,
        name_lookup.enclosing(machine),
        name_lookup.defaults(machine, node.parameters),
    )
    value: Value = defined
    for decorator in reversed(node.decorators):
        value = machine.library.decorate(machine.evaluate(decorator), value, decorator)
    name_lookup.store(machine, node.name, value)
    return NORMAL


def exec_class(machine: Machine, node: ir.ClassDef) -> int:
    defined = calls.define_class(machine, node)
    value: Value = defined
    for decorator in reversed(node.decorators):
        value = machine.library.decorate(machine.evaluate(decorator), value, decorator)
    name_lookup.store(machine, node.name, value)
    machine.plan.classes.setdefault((machine.frame.module.path, node.number), defined)
    return NORMAL


EXECUTE: dict[type, Callable[[Any, Any], int]] = {
    ir.ExpressionStatement: exec_expression,
    ir.Assign: exec_assign,
    ir.AugAssign: exec_augmented,
    ir.Delete: exec_delete,
    ir.Return: exec_return,
    ir.Raise: exec_raise,
    ir.Assert: exec_assert,
    ir.Pass: exec_pass,
    ir.Break: loops.exec_break,
    ir.Continue: loops.exec_continue,
    ir.Import: imports.exec_import,
    ir.ImportFrom: imports.exec_import_from,
    ir.Declare: exec_declare,
    ir.If: exec_if,
    ir.For: loops.exec_for,
    ir.While: loops.exec_while,
    ir.With: exec_with,
    ir.Try: exec_try,
    ir.Match: exec_match,
    ir.FunctionDef: exec_function,
    ir.ClassDef: exec_class,
}
