"""Escape: values that go where they are not followed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpulint.analysis.domain.context import Object, Strategy
from gpulint.analysis.domain.values.base import Union, Value
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import Bound, Partial
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.domain.values.objects import Model, Optimizer, ScopeManager, Tape, Variable
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow.device_scopes import ENTERED
from gpulint.analysis.models.tensorflow.objects import variables_built
from gpulint.analysis.plan import events
from gpulint.places import Site

MAX_ESCAPE_DEPTH = 3
"""Containers inside containers that are searched for strategies."""


def escape(machine: Machine, value: Any, how: str, site: Site) -> None:
    """A value goes where gpulint does not follow: strategies and scopes in it count as used, others have the tapes, and
    may call the models that they are given."""
    for one in _within(value):
        if isinstance(one, Strategy):
            machine.emit(events.StrategyUsed(site, machine.where(), one, how))
        elif isinstance(one, Tape):
            one.is_persistent = False
        elif isinstance(one, Variable) and how == "passed":
            one.is_handed_out = True
        elif isinstance(one, Model) and how == "passed":
            variables_built(machine, one, is_known=False)
        elif isinstance(one, ScopeManager):
            machine.emit(events.ScopeEntered(site, machine.where(), one.strategy, one.site, True))
            machine.state.write(one.state, ENTERED, True)
            machine.emit(events.StrategyUsed(site, machine.where(), one.strategy, how))


def _within(value: Any) -> Iterator[Any]:
    """What others can reach through a value, each once, to a depth of MAX_ESCAPE_DEPTH."""
    depths: dict[int, int] = {}
    pending = [(value, 0)]
    while pending:
        one, depth = pending.pop()
        if not isinstance(one, Value) or depths.get(id(one), depth + 1) <= depth:
            continue
        depths[id(one)] = depth
        yield one
        if isinstance(one, Union):
            pending += [(option, depth) for _, option in reversed(one.alternatives)]
        elif depth < MAX_ESCAPE_DEPTH:
            pending += [(part, depth + 1) for part in reversed(_parts(one))]


def _parts(value: Value) -> tuple[Any, ...]:
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
    """A function returns a value. From an entry point that nobody calls it goes to unknown callers."""
    entry = machine.frame.caller.parent
    if entry is not None and entry.site is None and not entry.known:
        escape(machine, value, "returned", site)


def store_attribute(machine: Machine, receiver: Object, name: str, value: Value, site: Site) -> None:
    """An attribute is set. Of an object of the program it can be read elsewhere by anyone."""
    if isinstance(receiver, Model) and name == "optimizer" and isinstance(value, Optimizer):
        machine.state.write(receiver.attributes, ".optimizer", value)
    if isinstance(receiver, Model) and isinstance(value, Variable):
        variables_built(machine, receiver)
    if isinstance(receiver, Model) and name == "run_eagerly":
        machine.emit(events.EagerModeSet(site, machine.where(), receiver, machine.choose(value)))
    escape(machine, value, "stored", site)
