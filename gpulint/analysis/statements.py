"""What each kind of statement does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gpulint.analysis import (
    access,
    builtin,
    calls,
    counters,
    datasets,
    decorators,
    expressions,
    host,
    imports,
    managers,
    members,
    moments,
    protocols,
    tensors,
)
from gpulint.analysis.contexts import Loop
from gpulint.analysis.control import NORMAL, STOPS, Halts
from gpulint.analysis.events import LoopEntered
from gpulint.analysis.nesting import as_now, rebuilt
from gpulint.analysis.paths import EVERYWHERE, Condition, Literal, Path, compatible
from gpulint.analysis.state import MISSING, Outcome, in_turn
from gpulint.analysis.truth import compare, truth
from gpulint.analysis.values import (
    NONE,
    Function,
    Items,
    Join,
    ListedDevice,
    Unknown,
    UserClass,
    Value,
    Variable,
)
from gpulint.syntax import endings, ir

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

MAX_ROUND_DEPTH = 2
"""Loops nested deeper than this are gone through once; the others twice, so that what one round leaves
behind is seen by the next."""


def expression(interp: Interpreter, node: ir.ExpressionStatement) -> int:
    value = interp.evaluate(node.value)
    if isinstance(node.value, ir.Call):
        managers.dropped(interp, interp.choose(value), interp.site(node.value))
    return NORMAL


def assign(interp: Interpreter, node: ir.Assign) -> int:
    if node.value is None:
        return NORMAL
    value = interp.choose(interp.evaluate(node.value))
    first = node.targets[0]
    if isinstance(node.value, ir.Binary) and ir.is_same_place(first, node.value.left):
        if node.value.operator == "+":
            builtin.grown(interp, value, interp.site(node))
        if isinstance(first, ir.Name):
            before = interp.choose(interp.evaluate(node.value.left))
            value = counters.stepped(interp, first, before, value, interp.site(node))
    for target in node.targets:
        access.assign(interp, target, value)
    return NORMAL


def augmented(interp: Interpreter, node: ir.AugAssign) -> int:
    """`a += b`: lists grow in place, everything else is `a = a + b`."""
    before = interp.choose(interp.evaluate(node.target))
    value = interp.choose(interp.evaluate(node.value))
    if isinstance(before, Items) and before.kind == "list" and node.operator == "+":
        builtin.extend(interp, before, value, interp.site(node))
        return NORMAL
    if isinstance(before, Variable):
        tensors.operate(interp, f"operator.{node.operator}", (before, value), node)
        return NORMAL
    result = interp.each(
        before,
        lambda a: interp.each(value, lambda b: expressions.operate(interp, a, node.operator, b, node), node),
        node,
    )
    access.assign(interp, node.target, counters.stepped(interp, node.target, before, result, interp.site(node)))
    return NORMAL


def delete(interp: Interpreter, node: ir.Delete) -> int:
    for target in node.targets:
        if isinstance(target, ir.Name):
            interp.state.write(interp.frame.locals, target.id, MISSING)
        elif isinstance(target, ir.Subscript):
            container = interp.choose(interp.evaluate(target.value))
            if isinstance(container, Items):
                builtin.emptied(interp, container, interp.site(target))
    return NORMAL


def return_(interp: Interpreter, node: ir.Return) -> int:
    value = interp.choose(interp.evaluate(node.value)) if node.value is not None else NONE
    members.returned(interp, value, interp.site(node))
    interp.leave(value)
    return STOPS


def raise_(interp: Interpreter, node: ir.Raise) -> int:
    if node.value is not None:
        interp.evaluate(node.value)
    return STOPS


def assert_(interp: Interpreter, node: ir.Assert) -> int:
    test = interp.evaluate(node.test)
    tensors.read(interp, interp.choose(test), "bool", node.test)
    yes, _ = interp.split(test)
    if yes is None:
        return STOPS
    interp.demand(interp.path, yes)
    interp.path |= yes
    interp.assure(yes)
    return NORMAL


def pass_(interp: Interpreter, node: ir.Pass) -> int:
    return NORMAL


def break_(interp: Interpreter, node: ir.Break) -> int:
    if interp.loops:
        record = interp.loops[-1]
        record.breaks.append(Outcome(interp.path, interp.state.changes_since(record.mark)))
    return STOPS


def continue_(interp: Interpreter, node: ir.Continue) -> int:
    if interp.loops:
        record = interp.loops[-1]
        record.continues.append(Outcome(interp.path, interp.state.changes_since(record.mark)))
    return STOPS


def declare(interp: Interpreter, node: ir.Declare) -> int:
    frame = interp.frame
    for name in node.names:
        scope = frame.module.globals
        if node.kind == "nonlocal":
            scope = next((outer for outer in frame.closure if name in outer), scope)
        frame.declared[name] = scope
    return NORMAL


def if_(interp: Interpreter, node: ir.If) -> int:
    test = interp.choose(interp.evaluate(node.test))
    tensors.read(interp, test, "bool", node.test)
    yes, no = interp.split(test)
    if interp.imported_with is None and _is_of_main_program(interp, node.test):
        interp.imported_with = dict(interp.configuration)
    if yes is None or no is None:
        guard, block = (yes, node.body) if yes is not None else (no, node.orelse)
        interp.path |= guard or frozenset()
        is_option = (
            moments.is_of_moment(node.test)
            and not _is_unused(interp, node, block)
            and not (block is node.body and moments.is_present(interp, node.test))
        )
        if not block or not (is_option or _changes(block, node.test)):
            return interp.execute(block)
        flags = interp.context.flags
        interp.context = interp.context._replace(flags=(*flags, interp.site(node)))
        completion = interp.execute(block)
        interp.context = interp.context._replace(flags=flags)
        return completion
    before, base = interp.context, interp.path
    interp.context = before._replace(guards=(*before.guards, interp.site(node)))
    completion = interp.fork(
        [(yes, partial(_branch, interp, node.body, no)), (no, partial(_branch, interp, node.orelse, yes))]
    )
    for block, other in ((node.body, no), (node.orelse, yes)):
        if _is_error(block):
            interp.demand(base, other)
    if interp.diverged:
        interp.diverged = [(o, context._replace(guards=before.guards)) for o, context in interp.diverged]
    interp.context = interp.context._replace(guards=before.guards)
    return completion


def _is_of_main_program(interp: Interpreter, test: ir.Expr) -> bool:
    """Whether a statement of the module asks for `__name__`: what it guards is not run where others import the file."""
    return (
        interp.frame is interp.module_frame
        and isinstance(test, ir.Compare)
        and isinstance(test.left, ir.Name)
        and test.left.id == "__name__"
    )


def _branch(interp: Interpreter, block: Sequence[ir.Statement], other: Path) -> int:
    """Run one branch. Where it raises or ends the loop, whatever comes after has taken the other one."""
    skipped = _skipped(interp)
    try:
        completion = interp.execute(block)
    except Halts:
        interp.assure(other)
        raise
    if completion == STOPS and _skipped(interp) == skipped:
        interp.assure(other)
    return completion


def _is_error(block: Sequence[ir.Statement]) -> bool:
    """Whether a block does nothing but raise what tells that something is wrong, and is no mere end of the program."""
    *before, last = block or (None,)
    if not isinstance(last, ir.Raise) or last.value is None or not all(isinstance(one, _PLAIN) for one in before):
        return False
    raised = last.value.function if isinstance(last.value, ir.Call) else last.value
    return not (isinstance(raised, ir.Name) and raised.id in _ENDS)


_ENDS = frozenset({"KeyboardInterrupt", "StopIteration", "SystemExit"})
"""Exceptions that are no errors."""

_PLAIN = (ir.Assign, ir.AugAssign, ir.ExpressionStatement)
"""Statements that only lead on to the next one."""


def _skipped(interp: Interpreter) -> int:
    """How many ways so far leave out the rest of the loop's body, or of a function without one, and no more."""
    return len(interp.loops[-1].continues if interp.loops else interp.frame.exits)


def _is_unused(interp: Interpreter, node: ir.If, block: Sequence[ir.Statement]) -> bool:
    """Whether a block is what happens without the option of the running function that its test asks for."""
    test, definition = node.test, interp.frame.definition
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
    """Whether a block counts what its test compares, as in `if count < limit: count += 1`."""
    if not isinstance(test, ir.Compare):
        return False
    targets = [
        target
        for statement in block
        for target in (
            statement.targets
            if isinstance(statement, ir.Assign)
            else (statement.target,)
            if isinstance(statement, ir.AugAssign)
            else ()
        )
    ]
    return any(ir.is_same_place(side, target) for side in (test.left, test.rest[0][1]) for target in targets)


def for_(interp: Interpreter, node: ir.For) -> int:
    iterable = interp.choose(interp.evaluate(node.iterable))
    iterable = protocols.iterated(interp, iterable, interp.site(node.iterable))
    elements, exact = expressions.iterate(interp, iterable, node.iterable)
    loop = Loop(interp.site(node), as_now(iterable), exact, tuple(access.bound_names(node.target)))
    datasets.consumed(interp, iterable, "loop", interp.site(node.iterable), loop.site)
    rounds: list[Value] = elements
    if not exact:
        turns = range(2 if len(interp.loops) < MAX_ROUND_DEPTH else 1)
        rounds = [_of_turn(element, turn) for turn in turns for element in elements]

    def start(element: Value) -> bool:
        access.assign(interp, node.target, protocols.following(interp, iterable, interp.site(node.iterable), element))
        return True

    return _loop(interp, node, loop, [partial(start, element) for element in rounds])


def _of_turn(element: Value, turn: int) -> Value:
    """What stands for the elements of a loop in one round: another value than in the round before, so that
    conditions about the two do not meet."""
    if turn == 0:
        return element

    def change(one: Value) -> Value:
        if isinstance(one, Unknown):
            return Unknown(("turn", turn, one.symbol))
        return ListedDevice(one.list, one.index, turn) if isinstance(one, ListedDevice) else one

    def made(value: Value) -> Value:
        return rebuilt(value, change, lambda items, parts: Items(items.kind, parts))

    if isinstance(element, Join):
        return Join(tuple((guard, made(option)) for guard, option in element.alternatives))
    return made(element)


def while_(interp: Interpreter, node: ir.While) -> int:
    loop = Loop(interp.site(node), None, False)

    def start() -> bool:
        *first, last = _conjuncts(node.test)
        for test in first:
            if not _is_met(interp, test, is_read=True):
                return False
            *outer, present = interp.context.loops
            interp.context = interp.context._replace(loops=(*outer, present._replace(start=interp.path)))
        return _is_met(interp, last, is_read=False)

    return _loop(interp, node, loop, [start] * (2 if len(interp.loops) < MAX_ROUND_DEPTH else 1))


def _conjuncts(test: ir.Expr) -> list[ir.Expr]:
    """The parts of a test that all have to hold, in their order: no round is without the later ones."""
    if isinstance(test, ir.Boolean) and test.operator == "and":
        return [*_conjuncts(test.left), *_conjuncts(test.right)]
    return [test]


def _is_met(interp: Interpreter, test: ir.Expr, *, is_read: bool) -> bool:
    """Go on where a part of the test of a loop holds; whether it can."""
    value = interp.evaluate(test)
    if is_read:
        tensors.read(interp, interp.choose(value), "bool", test)
    yes, _ = interp.split(value)
    if yes is None:
        return False
    host.decided(interp, yes, interp.site(test))
    interp.path |= yes
    return True


def _loop(interp: Interpreter, node: ir.For | ir.While, loop: Loop, rounds: list[Callable[[], bool]]) -> int:
    """Run the body once for each round, then the `else` part, then join the ways out."""
    from gpulint.analysis.interpreter import LoopRecord

    before, base = interp.context, interp.path
    goes_on: list[tuple[int, Path]] = []
    loop = loop._replace(
        entry=interp.steps,
        turns=len(rounds),
        flags=len(before.flags),
        handlers=len(before.handlers),
        is_traced=before.traced is not None,
        goes_on=goes_on,
    )
    interp.context = before._replace(loops=(*before.loops, loop), guards=())
    interp.emit(LoopEntered(loop.site, interp.where(), loop))
    outermost = interp.state.mark()
    breaks: list[Outcome] = []
    falls = True
    for turn, start in enumerate(rounds):
        record = LoopRecord(interp.state.mark())
        interp.loops.append(record)
        interp.branches += 1
        interp.path = base
        interp.context = before._replace(loops=(*before.loops, loop._replace(start=base, turn=turn)), guards=())
        try:
            if not start():
                break
            present = loop._replace(start=interp.path, turn=turn)
            interp.context = before._replace(loops=(*before.loops, present), guards=())
            completion = interp.execute(node.body)
            interp.settle()
        finally:
            interp.loops.pop()
            interp.branches -= 1
        changes = interp.state.take_back(record.mark)
        ends = list(record.continues)
        if completion == NORMAL:
            ends.append(Outcome(interp.path, changes))
        goes_on += [(turn, end.path) for end in ends]
        interp.path = base
        sofar = interp.state.changes_since(outermost)
        breaks += [Outcome(out.path, {**sofar, **out.changes}) for out in record.breaks]
        interp.context = before._replace(loops=(*before.loops, loop), guards=())
        if not ends:
            falls = False
            break
        interp.state.join(ends, base)
        if all(_is_after_error(end.path - base) for end in ends):
            break  # it tries until it succeeds once
    interp.context, interp.path = before, base
    if falls and isinstance(node, ir.While):
        _narrow(interp, node.test)
    if falls and node.orelse:
        falls = interp.execute(node.orelse) == NORMAL
    if breaks:
        changes = interp.state.take_back(outermost)
        ends = [*breaks, Outcome(interp.path, changes)] if falls else breaks
        interp.path = base
        interp.state.join(in_turn(ends, base), base)
        return NORMAL
    return NORMAL if falls else STOPS


def _narrow(interp: Interpreter, test: ir.Expr) -> None:
    """Where the test of a loop has failed, its variables are nothing that makes it hold: `while line is None`."""
    below = [test, *ir.below(test)]
    if any(isinstance(node, ir.Call) for node in below):
        return
    for name in dict.fromkeys(node.id for node in below if isinstance(node, ir.Name)):
        scope = interp.frame.declared.get(name, interp.frame.locals)
        if not isinstance(value := scope.get(name), Join):
            continue
        ends = [guard for guard, holds in truth(interp.evaluate(test), interp.path) if holds is not True]
        left = tuple(one for one in value.alternatives if any(compatible(one[0], guard) for guard in ends))
        if 0 < len(left) < len(value.alternatives):
            interp.state.write(scope, name, Join(left) if len(left) > 1 else left[0][1])


def _is_after_error(path: Path) -> bool:
    """Whether a path leads through an `except`."""
    return any(literal.holds and literal.condition.operator == "handler" for literal in path)


def with_(interp: Interpreter, node: ir.With) -> int:
    return managers.enter_all(interp, node.items, node.body)


def try_(interp: Interpreter, node: ir.Try) -> int:
    """The body with its `else`, or one of the handlers from the state before the body. Where no handler lets the
    program go on, the body is run as if there was no `try`."""
    guarding = _guarding(interp, node)
    caught = frozenset(name for handler in guarding for name in _exception_names(handler.type))
    if endings.swallows(node):
        caught |= {"BaseException"}
    condition = Condition("completes", interp.site(node), tuple(sorted(caught)))

    def body() -> int:
        before = interp.context
        if caught:
            interp.context = before._replace(handlers=(*before.handlers, caught))
        completion = interp.execute(node.body)
        interp.context = interp.context._replace(handlers=before.handlers)
        return completion or interp.execute(node.orelse)

    def handle(handler: ir.Handler) -> Callable[[], int]:
        def run() -> int:
            if handler.name is not None:
                access.store(interp, handler.name, Unknown(("exception", interp.site(handler))))
            return interp.execute(handler.body)

        return run

    completes = frozenset({Literal(condition, True)}) if caught else EVERYWHERE
    arms: list[tuple[Path, Callable[[], int]]] = [(completes, body)]
    failed = frozenset({Literal(condition, False)})
    for handler in node.handlers:
        which = Condition("handler", interp.site(handler), tuple(_exception_names(handler.type)))
        arms.append((failed | {Literal(which, True)}, handle(handler)))
    completion = interp.fork(arms) if node.handlers else body()
    if node.finalbody:
        return interp.execute(node.finalbody) or completion
    return completion


def _guarding(interp: Interpreter, node: ir.Try) -> list[ir.Handler]:
    """The handlers by which the program goes on. One that raises what another `try` around it may catch leaves that
    open; what it only raises again is as it was."""
    is_inside = bool(interp.context.handlers)
    return [one for one in node.handlers if endings.goes_on(one) or (is_inside and endings.turns_error(one))]


def _exception_names(node: ir.Expr | None) -> list[str]:
    """What a handler catches, by name; "" for what is computed."""
    if node is None:
        return ["BaseException"]
    if isinstance(node, ir.Sequence_):
        return [name for element in node.elements for name in _exception_names(element)]
    if isinstance(node, ir.Name):
        return [node.id]
    return [node.name if isinstance(node, ir.Attribute) else ""]


def match(interp: Interpreter, node: ir.Match) -> int:
    subject = interp.choose(interp.evaluate(node.subject))
    for start in range(0, len(node.cases), MAX_CASES):
        ended = _cases(interp, subject, node.cases[start : start + MAX_CASES], 0)
        if ended != NORMAL:
            return ended
    return NORMAL


MAX_CASES = 200
"""Cases of a `match` each of which rules out the others: more are taken for another `match` behind the first."""


def _cases(interp: Interpreter, subject: Value, cases: tuple[ir.Case, ...], index: int) -> int:
    if index == len(cases):
        return NORMAL
    case = cases[index]
    yes: Path | None = EVERYWHERE
    no: Path | None = None
    if case.wildcard:
        pass
    elif (value := case.value) is not None:
        test = interp.each(subject, lambda option: compare(option, "==", interp.evaluate(value)), case)
        yes, no = interp.split(test)
    else:
        condition = interp.fresh("case", interp.site(case))
        yes, no = frozenset({Literal(condition, True)}), frozenset({Literal(condition, False)})

    def body() -> int:
        for name in case.binds:
            access.store(interp, name, Unknown(("capture", interp.site(case), name)))
        if case.guard is not None:
            interp.evaluate(case.guard)
        return interp.execute(case.body)

    arms: list[tuple[Path, Callable[[], int]]] = []
    if yes is not None:
        arms.append((yes, body))
    if no is not None:
        arms.append((no, lambda: _cases(interp, subject, cases, index + 1)))
    return interp.fork(arms)


def function(interp: Interpreter, node: ir.FunctionDef) -> int:
    defined = Function(
        node,
        interp.frame.module,
        access.enclosing(interp),
        access.defaults(interp, node.parameters),
    )
    value: Value = defined
    for decorator in reversed(node.decorators):
        value = decorators.decorate(interp, interp.evaluate(decorator), value, decorator)
    access.store(interp, node.name, value)
    return NORMAL


def class_(interp: Interpreter, node: ir.ClassDef) -> int:
    defined = calls.define_class(interp, node)
    value: Value = defined
    for decorator in reversed(node.decorators):
        made = interp.evaluate(decorator)
        if isinstance(value, UserClass):
            value = decorators.decorate_class(interp, made, value, decorator)
        else:
            value = decorators.decorate(interp, made, value, decorator)
    access.store(interp, node.name, value)
    interp.plan.classes.setdefault((interp.frame.module.path, node.number), defined)
    return NORMAL


EXECUTE: dict[type, Callable[[Any, Any], int]] = {
    ir.ExpressionStatement: expression,
    ir.Assign: assign,
    ir.AugAssign: augmented,
    ir.Delete: delete,
    ir.Return: return_,
    ir.Raise: raise_,
    ir.Assert: assert_,
    ir.Pass: pass_,
    ir.Break: break_,
    ir.Continue: continue_,
    ir.Import: imports.import_,
    ir.ImportFrom: imports.import_from,
    ir.Declare: declare,
    ir.If: if_,
    ir.For: for_,
    ir.While: while_,
    ir.With: with_,
    ir.Try: try_,
    ir.Match: match,
    ir.FunctionDef: function,
    ir.ClassDef: class_,
}
