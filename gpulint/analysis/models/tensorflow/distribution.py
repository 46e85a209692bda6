"""Methods of `tf.distribute.Strategy`."""

from __future__ import annotations

from functools import partial

from gpulint.analysis.domain.context import Replica, Strategy
from gpulint.analysis.domain.traversal import rebuilt, with_elements
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, LibraryName, Unknown, Value
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.functions import Bound, Function
from gpulint.analysis.domain.values.objects import ScopeManager, Variable
from gpulint.analysis.domain.values.tensors import PerReplica, Tensor
from gpulint.analysis.engine.calls import arguments_from
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import escape
from gpulint.analysis.plan import events
from gpulint.places import Site

_RUNS = frozenset({"run", "experimental_run", "experimental_run_v2"})
_DISTRIBUTES = frozenset({"experimental_distribute_dataset", "experimental_distribute_values_from_function"})
_FROM_FUNCTION = frozenset(
    {
        "distribute_datasets_from_function",
        "experimental_distribute_datasets_from_function",
        "make_input_fn_iterator",
    }
)


def strategy_method(machine: Machine, strategy: Strategy, name: str, arguments: Arguments, site: Site) -> Value:
    """Result of `strategy.name(…)`."""
    if name == "scope":
        machine.emit(events.ScopeMade(site, machine.where(), strategy))
        machine.emit(events.StrategyUsed(site, machine.where(), strategy, "scope"))
        return ScopeManager(site, strategy)
    if name in _RUNS:
        return _run(machine, strategy, arguments, site)
    if name in _DISTRIBUTES or name in _FROM_FUNCTION:
        return _distribute(machine, strategy, name, arguments, site)
    if name in ("reduce", "gather"):
        machine.emit(events.StrategyUsed(site, machine.where(), strategy, "reduce"))
        value = arguments.get("value", 1 if name == "reduce" else 0) or Unknown(("reduced", site))
        operation = _operation(arguments.get("reduce_op", 0)) if name == "reduce" else "gather"
        machine.emit(events.Reduction(site, machine.where(), strategy, operation, value))
        return Tensor(site)
    if name == "experimental_local_results":
        value = machine.choose(arguments.get("value", 0) or Unknown(("results", site)))
        return Items("tuple", None, value.value if isinstance(value, PerReplica) else Tensor(site))
    machine.emit(events.StrategyUsed(site, machine.where(), strategy, "attribute"))
    return Unknown(("call", ("attribute", strategy.symbol, name), site))


def _operation(value: Value | None) -> str:
    if isinstance(value, LibraryName):
        return value.name.rpartition(".")[2].lower()
    if isinstance(value, Constant) and isinstance(value.value, str):
        return value.value.lower()
    return ""


def _run(machine: Machine, strategy: Strategy, arguments: Arguments, site: Site) -> Value:
    function = arguments.get("fn", 0) or Unknown(("function", site))
    args, kwargs = arguments.get("args", 1), arguments.get("kwargs", 2)
    given = arguments_from(machine, args, kwargs)
    together, named = (machine.choose(value) if value is not None else None for value in (args, kwargs))
    parts = (together.element if isinstance(together, Items) and together.items is None else together, named)
    whole = tuple(value for value in parts if isinstance(value, (PerReplica, Tensor)))
    passed = (*given.all(), *whole)
    machine.emit(events.StrategyUsed(site, machine.where(), strategy, "run"))
    machine.emit(events.StrategyRun(site, machine.where(), strategy, function, passed, tuple(arguments.sites.values())))
    inner = Arguments(
        tuple(map(local, given.positional)), {key: local(value) for key, value in given.keywords.items()}, given.open
    )
    before = machine.context
    if strategy.is_multi_replica:
        machine.context = before._replace(replica=Replica(site, strategy))
    result = machine.each(function, lambda option: _enter(machine, option, inner, site), site)
    machine.context = machine.context._replace(replica=before.replica)
    return per_replica(result, strategy, site) if strategy.is_multi_replica else result


def _enter(machine: Machine, function: Value, arguments: Arguments, site: Site) -> Value:
    if isinstance(function, Function):
        return machine.call_function(function, arguments, site)
    if isinstance(function, Bound) and isinstance(function.method, Function):
        receiver = function.receiver
        return machine.call_function(function.method, arguments.with_receiver(receiver), site, receiver)
    if isinstance(function, Unknown):
        return Unknown(("run", function.symbol, site))
    return machine.call(function, arguments, site)


def local(value: Value) -> Value:
    """Value as one replica sees it."""

    def change(one: Value) -> Value:
        return one.value if isinstance(one, PerReplica) else one

    def made(one: Items | Mapping, parts: tuple[Value, ...]) -> Value:
        if isinstance(one, Items):
            return Items(one.kind, parts, None, one.symbol)
        if all(part is before for part, before in zip(parts, one.entries.values(), strict=True)):
            return one  # what a replica writes to it stays there
        return with_elements(one, parts, (one.symbol,))

    return rebuilt(value, change, made, (Items, Mapping))


def per_replica(value: Value, strategy: Strategy, site: Site) -> Value:
    """Result of `strategy.run` for the value that the replica function returns."""

    def change(one: Value) -> Value:
        return PerReplica(site, strategy, one) if isinstance(one, (Tensor, Variable)) else one

    return rebuilt(value, change, partial(with_elements, name=("run", site)), (Items, Mapping))


def _distribute(machine: Machine, strategy: Strategy, name: str, arguments: Arguments, site: Site) -> Value:
    machine.emit(events.StrategyUsed(site, machine.where(), strategy, "distribute"))
    given = machine.choose(arguments.get("dataset", 0) or arguments.get("dataset_fn", 0) or NONE)
    if name in _FROM_FUNCTION:
        made = machine.call(given, Arguments((Unknown(("input context", site)),)), site)
        return machine.each(made, lambda one: _of_function(machine, strategy, name, one, site), site)
    if name == "experimental_distribute_values_from_function":
        escape.escape(machine, given, "passed", site)
        return PerReplica(site, strategy, Tensor(site))
    return machine.each(given, lambda one: _distributed(machine, strategy, name, one, site), site)


def _of_function(machine: Machine, strategy: Strategy, name: str, made: Value, site: Site) -> Value:
    machine.emit(events.DatasetDistributed(site, machine.where(), strategy, made, name))
    if not isinstance(made, Dataset):
        return Dataset(site, name, (), None, strategy)
    inputs = (made.but(steps=()),)
    return Dataset(site, name, made.steps, None, strategy, None, made.arguments, inputs, made.options)


def _distributed(machine: Machine, strategy: Strategy, name: str, given: Value, site: Site) -> Value:
    machine.emit(events.DatasetDistributed(site, machine.where(), strategy, given, name))
    if isinstance(given, Dataset):
        return given.but(distributed=strategy)
    return Dataset(site, "unknown", (), None, strategy)
