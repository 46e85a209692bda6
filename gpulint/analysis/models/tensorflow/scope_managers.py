"""Context managers of TensorFlow, and unknown ones that may be: `tf.device`, `strategy.scope()`."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.analysis.domain.context import StrategyScope
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.values.base import Unknown, Value
from gpulint.analysis.domain.values.managers import Manager
from gpulint.analysis.domain.values.objects import DeviceManager, ScopeManager
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.python.threads import POOLS
from gpulint.analysis.models.tensorflow import device_runtime
from gpulint.analysis.plan.events import DeviceEntered, ScopeDropped, ScopeEntered, StrategyUsed
from gpulint.places import Site
from gpulint.syntax import ir

ENTERED = "entered"
"""Key in the state of a scope: the scope was entered, or other code has it and may enter it."""


def dropped(machine: Machine, value: Value, site: Site) -> None:
    """Record that the scope that a call returned is discarded."""
    if isinstance(value, ScopeManager) and ENTERED not in value.state:
        machine.emit(ScopeDropped(site, machine.where(), value.strategy, value.site))


def has_no_effect_on(machine: Machine, body: Sequence[ir.Statement], manager: Value, site: Site) -> bool:
    """Whether entering a manager has no effect on a body.

    A `tf.device` scope has none on function definitions: a function runs on the device in force where it is called. The
    device is initialised nevertheless.
    """
    if not isinstance(manager, DeviceManager) or not all(isinstance(one, ir.FunctionDef) for one in body):
        return False
    device_runtime.initialise(machine, "yes", site)
    return True


def has_replicas(manager: Value) -> bool:
    """Whether a manager is the scope of a multi-replica strategy."""
    return isinstance(manager, ScopeManager) and manager.strategy.is_multi_replica


def enter(machine: Machine, manager: Manager, site: Site) -> Value:
    """Enter a manager. Returns the value that `as` binds."""
    context = machine.context
    if isinstance(manager, DeviceManager):
        device_runtime.initialise(machine, "yes", site)
        machine.context = context._replace(devices=(*context.devices, manager.scope))
        machine.emit(DeviceEntered(manager.site, machine.where(), manager.named, manager.scope))
    elif isinstance(manager, ScopeManager):
        strategy = manager.strategy
        machine.context = context._replace(scopes=(*context.scopes, StrategyScope(site, strategy)))
        machine.emit(ScopeEntered(site, machine.where(), strategy, manager.site, False))
        machine.state.write(manager.state, ENTERED, True)
        machine.emit(StrategyUsed(site, machine.where(), strategy, "entered"))
        return strategy
    return manager


def leave(machine: Machine, manager: Manager) -> None:
    """Leave a manager that was entered with an explicit `__enter__`."""
    context = machine.context
    if isinstance(manager, DeviceManager):
        machine.context = context._replace(devices=context.devices[:-1])
    elif isinstance(manager, ScopeManager):
        machine.context = context._replace(scopes=context.scopes[:-1])


def enter_unknown(machine: Machine, manager: Value, site: Site) -> Value:
    """Enter an unknown manager. Returns the value that `as` binds."""
    if _may_be_scope(manager):
        machine.context = machine.context._replace(maybe_scoped=True)
    gives_itself = not isinstance(manager, Unknown) or _is_file(manager) or manager.symbol.origin in _GIVE_THEMSELVES
    return manager if gives_itself else Unknown(("entered", site))


_GIVE_THEMSELVES = POOLS | {"h5py.File", "numpy.load"}
"""Library functions whose results are managers that `as` binds to the name."""

_OPAQUE = frozenset({"joined", "result", "call", "conditional", "run", "entered"})


def _may_be_scope(manager: Value) -> bool:
    """Whether an unknown manager may enter a strategy.

    It may if it comes from program code that was not followed, or if its name contains "scope" or "strateg".
    """
    if not isinstance(manager, Unknown) or _is_file(manager):
        return False
    if any("scope" in word.lower() or "strateg" in word.lower() for word in manager.symbol.words):
        return True
    head, *rest = manager.symbol.parts
    return head in _OPAQUE and not (rest and isinstance(rest[0], (tuple, Symbol)) and _is_library(rest[0]))


def _is_file(manager: Unknown) -> bool:
    """Whether a manager is a file object."""
    head, *rest = manager.symbol.parts
    called = rest[0] if head == "call" and rest else None
    name = called.parts[-1] if isinstance(called, Symbol) else called[-1] if isinstance(called, tuple) else called
    return isinstance(name, str) and name.rpartition(".")[2] in _OPENS


_OPENS = frozenset({"FileIO", "GFile", "open"})


def _is_library(name: object) -> bool:
    words = name.words if isinstance(name, Symbol) else ()
    return (isinstance(name, tuple) and name[:1] == ("external",)) or "external" in words
