"""Context managers: entering and leaving by `with` statements and `enter_context`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpulint.analysis.domain.completion import ABRUPT, NORMAL, PathEnds
from gpulint.analysis.domain.context import Context
from gpulint.analysis.domain.path_conditions import Condition, literal_of
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.functions import Bound, Function
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.domain.values.managers import ExitStackManager, GeneratorManager, Manager, NullManager
from gpulint.analysis.engine import activation, assignment
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site
from gpulint.syntax import ir, walk


def enter_all(machine: Machine, items: Sequence[tuple[ir.Expr, ir.Expr | None]], body: Sequence[ir.Statement]) -> int:
    """Enter nested managers, run the body, and leave them."""
    if not items:
        return machine.execute(body)
    (expression, target), *rest = items
    manager = machine.evaluate(expression)
    machine.plan.entered.add(machine.site(expression))
    options = alternatives(manager, machine.path)

    def enter(option: Value) -> Callable[[], int]:
        def run(value: Value) -> int:
            if target is not None:
                assignment.assign(machine, target, value)
            return enter_all(machine, rest, body)

        if machine.library.has_no_effect_on(body, option, machine.site(expression)):
            return lambda: run(option)
        return lambda: run_inside(machine, option, machine.site(expression), run)

    if len(options) == 1:
        return enter(options[0][1])()
    in_order = sorted(options, key=lambda one: not machine.library.is_first(one[1]))  # one may use up the steps
    return machine.fork([(guard, enter(option)) for guard, option in in_order])


def run_inside(machine: Machine, manager: Value, site: Site, run: Callable[[Value], int]) -> int:
    """Enter a manager that is not a `Union`, run the body, and leave it."""
    before = machine.context
    if isinstance(manager, GeneratorManager):
        return _run_generator(machine, manager, run)
    if isinstance(manager, NullManager) and manager.suppressed:
        return _suppressing(machine, site, manager.suppressed, lambda: run(manager.value))
    if isinstance(manager, Manager):
        completion = run(apply(machine, manager, site))
    elif isinstance(manager, Instance) and manager.cls and (entry := manager.cls.find("__enter__")):
        value = machine.choose(machine.call(Bound(manager, entry[0]), Arguments(), site))
        leave = manager.cls.find("__exit__")
        if leave is not None and _swallows(leave[0]):
            completion = _suppressing(machine, site, ("BaseException",), lambda: run(value))
        else:
            completion = run(value)
        if leave is not None:
            machine.join_diverged()
            nothing = Unknown(("exit", site))
            machine.call(Bound(manager, leave[0]), Arguments((nothing, nothing, nothing)), site)
    else:
        completion = run(machine.library.enter_unknown(manager, site))
    machine.join_diverged()
    machine.context = before
    if isinstance(manager, ExitStackManager):
        close(machine, manager)
    return completion


def _swallows(leave: Value) -> bool:
    """Whether an `__exit__` method returns True somewhere, so that the program goes on after an error."""
    return isinstance(leave, Function) and any(
        isinstance(node, ir.Return) and isinstance(node.value, ir.Constant) and node.value.value is True
        for node in walk.below(leave.definition)
    )


def _suppressing(machine: Machine, site: Site, errors: tuple[str, ...], body: Callable[[], int]) -> int:
    """Run a body as in a `try` that catches these errors with an empty handler."""
    condition = Condition("completes", site, tuple(sorted(errors)))

    def guarded() -> int:
        before = machine.context
        machine.context = before._replace(handlers=(*before.handlers, frozenset(errors)))
        completion = body()
        machine.context = machine.context._replace(handlers=before.handlers)
        return completion

    ways = [
        (frozenset({literal_of(condition, True)}), guarded),
        (frozenset({literal_of(condition, False)}), lambda: NORMAL),
    ]
    return machine.fork(ways)


def apply(machine: Machine, manager: Manager, site: Site) -> Value:
    """Apply a manager's effect to the present context. Returns the value that `as` would bind."""
    if isinstance(manager, NullManager):
        return manager.value
    return machine.library.enter(manager, site)


def save_context(machine: Machine, stack: Manager) -> None:
    """Save the context before the first manager is entered on an `ExitStack`, to restore it when that is closed."""
    if "outer" not in stack.state:
        machine.state.write(stack.state, "outer", Constant(machine.context))


def close(machine: Machine, stack: Manager) -> None:
    """Leave the managers that were entered on an `ExitStack`."""
    outer = stack.state.get("outer")
    if isinstance(outer, Constant) and isinstance(outer.value, Context):
        machine.context = machine.context._replace(scopes=outer.value.scopes, devices=outer.value.devices)


def enter_by_hand(machine: Machine, manager: Value, site: Site) -> Value:
    """Enter a manager by `manager.__enter__()` or `stack.enter_context(manager)`. It stays entered."""
    machine.frame.enters = True
    if isinstance(manager, GeneratorManager):
        function, arguments = manager.function, manager.arguments
        entered: list[Value] = []
        if isinstance(function, Function):
            contexts = []

            def at_yield(value: Value) -> None:
                entered.append(value)
                contexts.append(machine.context)

            activation.call_function(machine, function, arguments, site, on_yield=at_yield)
            if contexts:
                machine.context = machine.context._replace(scopes=contexts[0].scopes, devices=contexts[0].devices)
        return entered[0] if entered else Unknown(("entered", site))
    if isinstance(manager, Manager):
        return apply(machine, manager, site)
    if isinstance(manager, Instance) and manager.cls and (entry := manager.cls.find("__enter__")):
        return machine.call(Bound(manager, entry[0]), Arguments(), site)
    return Unknown(("entered", site))


def _run_generator(machine: Machine, manager: GeneratorManager, run: Callable[[Value], int]) -> int:
    """Run a function decorated with `contextlib.contextmanager`, and the `with` body at its `yield`."""
    function, arguments = manager.function, manager.arguments
    outer, before = machine.frame, machine.context
    completions: list[int] = []
    receiver = None
    if isinstance(function, Bound):
        receiver = function.receiver
        arguments = arguments.with_receiver(receiver)
        function = function.method if isinstance(function.method, Value) else NONE
    if not isinstance(function, Function):
        return run(Unknown(("entered", manager.site)))

    def at_yield(value: Value) -> None:
        inner, loops, active = machine.frame, machine.loops, machine.active
        machine.frame, machine.loops, machine.active = outer, outer_loops, outer_active
        try:
            completion = run(value)
        finally:
            machine.frame, machine.loops, machine.active = inner, loops, active
        completions.append(completion)
        if completion != NORMAL:
            raise PathEnds

    outer_loops, outer_active = machine.loops, list(machine.active)
    try:
        activation.call_function(machine, function, arguments, manager.site, receiver, on_yield=at_yield)
    except PathEnds:
        pass
    machine.join_diverged()
    machine.context = before
    if completions and all(completion != NORMAL for completion in completions):
        return ABRUPT
    return NORMAL


def manager_method(machine: Machine, receiver: Manager, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of `manager.name(…)`."""
    if name == "__enter__":
        return enter_by_hand(machine, receiver, site)
    if name == "__exit__":
        machine.library.leave(receiver)
        return NONE
    if name == "close":
        close(machine, receiver)
        return NONE
    if name == "enter_context" and arguments.positional:
        save_context(machine, receiver)
        return machine.each(arguments.positional[0], lambda option: enter_by_hand(machine, option, site), site)
    return Unknown(("call", ("attribute", symbol_of(receiver), name), site))
