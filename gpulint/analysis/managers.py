"""Context managers: what `with` and `enter_context` enter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpulint.analysis import access, calls, runtime
from gpulint.analysis.contexts import Context, DeviceScope, StrategyScope
from gpulint.analysis.control import NORMAL, STOPS, Halts
from gpulint.analysis.events import DeviceEntered, ScopeDropped, ScopeEntered, StrategyUsed
from gpulint.analysis.state import alternatives
from gpulint.analysis.symbols import Symbol
from gpulint.analysis.values import Arguments, Bound, Constant, Function, Instance, Manager, Strategy, Unknown, Value
from gpulint.places import Site
from gpulint.syntax import ir

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter


ENTERED = "entered"
"""In the state of a scope: it was entered, or somebody else has it who may."""


def dropped(interp: Interpreter, value: Value, site: Site) -> None:
    """Nobody uses what a call gave."""
    if isinstance(value, Manager) and value.kind == "scope" and ENTERED not in value.state:
        interp.emit(ScopeDropped(site, interp.where(), value.payload, value.site))


def enter_all(
    interp: Interpreter, items: Sequence[tuple[ir.Expr, ir.Expr | None]], body: Sequence[ir.Statement]
) -> int:
    """Enter managers one inside the other, run the body, and leave them."""
    if not items:
        return interp.execute(body)
    (expression, target), *rest = items
    manager = interp.evaluate(expression)
    interp.plan.entered.add(interp.site(expression))
    options = alternatives(manager, interp.path)

    def enter(option: Value) -> Callable[[], int]:
        def bound(value: Value) -> int:
            if target is not None:
                access.assign(interp, target, value)
            return enter_all(interp, rest, body)

        if (
            isinstance(option, Manager)
            and option.kind == "device"
            and all(isinstance(one, ir.FunctionDef) for one in body)
        ):
            # Functions compute on the device that is entered where they are called.
            runtime.initialised(interp, "yes", interp.site(expression))
            return lambda: bound(option)
        return lambda: inside(interp, option, interp.site(expression), bound)

    if len(options) == 1:
        return enter(options[0][1])()
    in_order = sorted(options, key=lambda one: not _is_of_replicas(one[1]))  # what is in each may take all steps
    return interp.fork([(guard, enter(option)) for guard, option in in_order])


def _is_of_replicas(manager: Value) -> bool:
    """Whether a manager is the scope of a strategy with several replicas."""
    if not isinstance(manager, Manager) or manager.kind != "scope":
        return False
    return isinstance(manager.payload, Strategy) and manager.payload.is_multi_replica


def inside(interp: Interpreter, manager: Value, site: Site, run: Callable[[Value], int]) -> int:
    """Enter a manager that is no join, run what is inside, and leave it."""
    before = interp.context
    if isinstance(manager, Manager) and manager.kind == "generator":
        return _generator(interp, manager, run)
    if isinstance(manager, Manager):
        completion = run(push(interp, manager, site))
    elif isinstance(manager, Instance) and manager.cls and (entry := manager.cls.find("__enter__")):
        value = interp.choose(interp.call(Bound(manager, entry[0]), Arguments(), site))
        completion = run(value)
        if completion == NORMAL and (leave := manager.cls.find("__exit__")):
            interp.settle()
            nothing = Unknown(("exit", site))
            interp.call(Bound(manager, leave[0]), Arguments((nothing, nothing, nothing)), site)
    else:
        if _may_be_scope(manager):
            interp.context = before._replace(maybe_scoped=True)
        gives_itself = not isinstance(manager, Unknown) or _is_file(manager)
        completion = run(manager if gives_itself else Unknown(("entered", site)))
    interp.settle()
    interp.context = before
    if isinstance(manager, Manager) and manager.kind == "stack":
        close(interp, manager)
    return completion


_OPAQUE = frozenset({"joined", "result", "call", "conditional", "run", "entered"})


def _may_be_scope(manager: Value) -> bool:
    """Whether an unknown manager may enter a strategy: it comes from code of the program that was not followed, or
    its name speaks of a scope."""
    if not isinstance(manager, Unknown) or _is_file(manager):
        return False
    if any("scope" in word.lower() or "strateg" in word.lower() for word in manager.symbol.words):
        return True
    head, *rest = manager.symbol.parts
    return head in _OPAQUE and not (rest and isinstance(rest[0], (tuple, Symbol)) and _is_library(rest[0]))


def _is_file(manager: Unknown) -> bool:
    """Whether a manager is a file that is opened."""
    head, *rest = manager.symbol.parts
    called = rest[0] if head == "call" and rest else None
    name = called.parts[-1] if isinstance(called, Symbol) else called[-1] if isinstance(called, tuple) else called
    return isinstance(name, str) and name.rpartition(".")[2] in _OPENS


_OPENS = frozenset({"FileIO", "GFile", "open"})


def _is_library(name: object) -> bool:
    words = name.words if isinstance(name, Symbol) else ()
    return (isinstance(name, tuple) and name[:1] == ("external",)) or "external" in words


def push(interp: Interpreter, manager: Manager, site: Site) -> Value:
    """Make what a manager does part of the present context; what `as` would bind."""
    context = interp.context
    if manager.kind == "device":
        scope: DeviceScope = manager.payload[0]
        runtime.initialised(interp, "yes", site)
        interp.context = context._replace(devices=(*context.devices, scope))
        interp.emit(DeviceEntered(manager.site, interp.where(), manager.payload[1], scope))
    elif manager.kind == "scope":
        strategy = manager.payload
        interp.context = context._replace(scopes=(*context.scopes, StrategyScope(site, strategy)))
        interp.emit(ScopeEntered(site, interp.where(), strategy, manager.site, False))
        interp.state.write(manager.state, ENTERED, True)
        interp.emit(StrategyUsed(site, interp.where(), strategy, "entered"))
        return strategy  # type: ignore[no-any-return]
    elif manager.kind == "null":
        value: Value = manager.payload
        return value
    return manager


def pop(interp: Interpreter, manager: Manager) -> None:
    """Leave a manager that was entered by hand."""
    context = interp.context
    if manager.kind == "device":
        interp.context = context._replace(devices=context.devices[:-1])
    elif manager.kind == "scope":
        interp.context = context._replace(scopes=context.scopes[:-1])


def opened(interp: Interpreter, stack: Manager) -> None:
    """Something is entered on an ExitStack: remember what was around it, for its end."""
    if "outer" not in stack.state:
        interp.state.write(stack.state, "outer", Constant(interp.context))


def close(interp: Interpreter, stack: Manager) -> None:
    """An ExitStack leaves what was entered on it."""
    outer = stack.state.get("outer")
    if isinstance(outer, Constant) and isinstance(outer.value, Context):
        interp.context = interp.context._replace(scopes=outer.value.scopes, devices=outer.value.devices)


def enter_by_hand(interp: Interpreter, manager: Value, site: Site) -> Value:
    """`manager.__enter__()` or `stack.enter_context(manager)`: stays entered."""
    interp.frame.enters = True
    if isinstance(manager, Manager) and manager.kind == "generator":
        function, arguments = manager.payload
        entered: list[Value] = []
        if isinstance(function, Function):
            contexts = []

            def at_yield(value: Value) -> None:
                entered.append(value)
                contexts.append(interp.context)

            calls.call_function(interp, function, arguments, site, on_yield=at_yield)
            if contexts:
                interp.context = interp.context._replace(scopes=contexts[0].scopes, devices=contexts[0].devices)
        return entered[0] if entered else Unknown(("entered", site))
    if isinstance(manager, Manager):
        return push(interp, manager, site)
    if isinstance(manager, Instance) and manager.cls and (entry := manager.cls.find("__enter__")):
        return interp.call(Bound(manager, entry[0]), Arguments(), site)
    return Unknown(("entered", site))


def _generator(interp: Interpreter, manager: Manager, run: Callable[[Value], int]) -> int:
    """A `contextlib.contextmanager` function: its body is run, and the `with` body where it yields."""
    function, arguments = manager.payload
    outer, before = interp.frame, interp.context
    completions: list[int] = []
    receiver = None
    if isinstance(function, Bound):
        receiver = function.receiver
        arguments = calls.with_receiver(receiver, arguments)
        function = function.method
    if not isinstance(function, Function):
        return run(Unknown(("entered", manager.site)))

    def at_yield(value: Value) -> None:
        inner, loops, active = interp.frame, interp.loops, interp.active
        interp.frame, interp.loops, interp.active = outer, outer_loops, outer_active
        try:
            completion = run(value)
        finally:
            interp.frame, interp.loops, interp.active = inner, loops, active
        completions.append(completion)
        if completion != NORMAL:
            raise Halts

    outer_loops, outer_active = interp.loops, list(interp.active)
    try:
        calls.call_function(interp, function, arguments, manager.site, receiver, on_yield=at_yield)
    except Halts:
        pass
    interp.settle()
    interp.context = before
    if completions and all(completion != NORMAL for completion in completions):
        return STOPS
    return NORMAL
