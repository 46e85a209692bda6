"""Escape: values that reach code that is not followed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpulint.analysis.domain.context import Object, Strategy
from gpulint.analysis.domain.traversal import leaves
from gpulint.analysis.domain.values.base import Union, Value
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import Bound, Partial
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.domain.values.object_facts import ObjectFact
from gpulint.analysis.domain.values.objects import Layer, Model, Optimizer, ScopeManager, Tape, Variable
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow.objects import optimizer_built, variables_built
from gpulint.analysis.models.tensorflow.scope_managers import ENTERED
from gpulint.analysis.plan import events
from gpulint.places import Site

MAX_ESCAPE_DEPTH = 3
"""Maximum nesting of containers that are searched for strategies."""


_AFFECTED = (Strategy, Tape, Variable, Model, Optimizer, ScopeManager)
"""Kinds of values for which it matters that they escape."""

_CONTAINERS = (Items, Mapping, Instance, Partial, Bound)


def escape(machine: Machine, value: Any, how: str, site: Site) -> None:
    """Record that a value reaches code that gpulint does not follow.

    Strategies and scopes in it count as used. A tape may be used again, and a model may be called.
    """
    for one in _within(value):
        if not isinstance(one, _AFFECTED):
            continue
        if isinstance(one, Strategy):
            machine.emit(events.StrategyUsed(site, machine.where(), one, how))
        elif isinstance(one, Tape):
            one.is_persistent = False
        elif isinstance(one, Variable) and how == "passed":
            one.is_handed_out = True
        elif isinstance(one, Model) and how == "passed":
            variables_built(machine, one, is_known=False)
        elif isinstance(one, Optimizer) and how == "passed":
            optimizer_built(machine, one)
        elif isinstance(one, ScopeManager):
            machine.emit(events.ScopeEntered(site, machine.where(), one.strategy, one.site, True))
            machine.state.write(one.state, ENTERED, True)
            machine.emit(events.StrategyUsed(site, machine.where(), one.strategy, how))


def _within(value: Any) -> Iterator[Value]:
    """Values reachable through a value, each once, to a depth of `MAX_ESCAPE_DEPTH`."""
    depths: dict[int, int] = {}
    pending: list[tuple[Value | None, int]] = [(value, 0)]
    while pending:
        one, depth = pending.pop()
        if not isinstance(one, Value) or depths.get(id(one), depth + 1) <= depth:
            continue
        depths[id(one)] = depth
        yield one
        if isinstance(one, Union):
            pending += [(option, depth) for _, option in reversed(one.alternatives)]
        elif depth < MAX_ESCAPE_DEPTH and isinstance(one, _CONTAINERS):
            pending += [(part, depth + 1) for part in reversed(_parts(one))]


def _parts(value: Value) -> tuple[Value | None, ...]:
    if isinstance(value, Items):
        return value.items or (value.element,)
    if isinstance(value, Mapping):
        return tuple(value.entries.values())
    if isinstance(value, Instance):
        return tuple(value.attributes.values())
    if isinstance(value, Partial):
        return value.arguments.all()
    return (value.receiver,) if isinstance(value, Bound) else ()


def escape_returned(machine: Machine, value: Value, site: Site) -> None:
    """Record that a function returns a value. It escapes from an entry point that the program does not call."""
    entry = machine.frame.caller.parent
    if entry is not None and entry.site is None and not entry.known:
        escape(machine, value, "returned", site)


def store_attribute(machine: Machine, receiver: Object, name: str, value: Value, site: Site) -> None:
    """Record that an attribute is set. An attribute of a program object can be read anywhere."""
    if isinstance(receiver, Model) and name == "optimizer" and isinstance(value, Optimizer):
        machine.state.write(receiver.facts, ObjectFact.OPTIMIZER, value)
    if isinstance(receiver, Model) and isinstance(value, Variable):
        variables_built(machine, receiver)
    if isinstance(receiver, Optimizer) or (isinstance(receiver, (Layer, Model)) and _holds_variable(value)):
        machine.emit(events.AttributeSet(site, machine.where(), receiver, name, machine.choose(value)))
    if isinstance(receiver, Model) and name == "run_eagerly":
        machine.emit(events.EagerModeSet(site, machine.where(), receiver, machine.choose(value)))
    escape(machine, value, "stored", site)


def _holds_variable(value: Value) -> bool:
    return any(isinstance(one, Variable) for one in leaves(value))
