"""Strategies, their scopes, and what runs in their replicas."""

from __future__ import annotations

from dataclasses import dataclass

from gpulint.analysis.domain.context import Strategy
from gpulint.analysis.domain.values.base import Arguments, Value
from gpulint.analysis.domain.values.functions import Function
from gpulint.analysis.domain.values.tensors import PerReplica
from gpulint.analysis.plan.events.base import Event
from gpulint.places import Site


@dataclass(eq=False, repr=False)
class StrategyBuilt(Event):
    """A strategy is created. `state` and `since` describe the runtime before, as in `RuntimeConfigured`."""

    strategy: Strategy
    arguments: Arguments
    state: str = "unknown"
    since: Site | None = None


@dataclass(eq=False, repr=False)
class StrategyUsed(Event):
    """A strategy is used. `how`: "scope", "entered", "run", "reduce", "distribute", "passed", "returned", "stored",
    "set" or "attribute" (any other attribute is read)."""

    strategy: Strategy
    how: str


@dataclass(eq=False, repr=False)
class ScopeMade(Event):
    """`strategy.scope()` is called."""

    strategy: Strategy


@dataclass(eq=False, repr=False)
class ScopeEntered(Event):
    """A scope is entered. `made` is the `.scope()` call. `escaped`: it is passed to code that may enter it."""

    strategy: Strategy
    made: Site
    escaped: bool


@dataclass(eq=False, repr=False)
class ScopeDropped(Event):
    """A call returns a scope that no code has entered, and its result is not used. `made` is the `.scope()` call."""

    strategy: Strategy
    made: Site


@dataclass(eq=False, repr=False)
class StrategyRun(Event):
    """`strategy.run(function, args)`. `arguments` are the elements of `args` and `kwargs`, or the batch passed as all
    of `args` (`args=next(iterator)`)."""

    strategy: Strategy
    function: Value
    arguments: tuple[Value, ...]
    argument_sites: tuple[Site, ...]


@dataclass(eq=False, repr=False)
class FunctionEntered(Event):
    """A function of the program is called, other than through `strategy.run`."""

    function: Function
    arguments: tuple[Value, ...]


@dataclass(eq=False, repr=False)
class FunctionHandedOver(Event):
    """A function of the program is passed to unknown code, which may call it."""

    function: Function


@dataclass(eq=False, repr=False)
class Reduction(Event):
    """`strategy.reduce(op, value)` or `replica_context.all_reduce(op, value)`."""

    strategy: Strategy | None
    operation: str
    value: Value


@dataclass(eq=False, repr=False)
class ReplicaValueRead(Event):
    """A per-replica value is used as if it were one tensor. `how`: "float", "int", "arithmetic", "op", "numpy",
    "metric", "assign", "print", "format", "bool" or "compare"."""

    value: PerReplica
    how: str
