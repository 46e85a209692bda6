"""Methods of `tf.distribute.Strategy`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gpulint.analysis import events, members
from gpulint.analysis.contexts import Replica
from gpulint.analysis.nesting import like, rebuilt
from gpulint.analysis.values import (
    NONE,
    Arguments,
    Bound,
    Constant,
    Dataset,
    External,
    Function,
    Items,
    Manager,
    Mapping,
    PerReplica,
    Strategy,
    Tensor,
    Unknown,
    Value,
    Variable,
)
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

_RUNS = frozenset({"run", "experimental_run", "experimental_run_v2"})
_DISTRIBUTES = frozenset({"experimental_distribute_dataset", "experimental_distribute_values_from_function"})
_FROM_FUNCTION = frozenset(
    {
        "distribute_datasets_from_function",
        "experimental_distribute_datasets_from_function",
        "make_input_fn_iterator",
    }
)


def method(interp: Interpreter, strategy: Strategy, name: str, arguments: Arguments, site: Site) -> Value:
    """`strategy.name(…)`."""
    if name == "scope":
        interp.emit(events.ScopeMade(site, interp.where(), strategy))
        interp.emit(events.StrategyUsed(site, interp.where(), strategy, "scope"))
        return Manager("scope", site, strategy)
    if name in _RUNS:
        return _run(interp, strategy, arguments, site)
    if name in _DISTRIBUTES or name in _FROM_FUNCTION:
        return _distribute(interp, strategy, name, arguments, site)
    if name in ("reduce", "gather"):
        interp.emit(events.StrategyUsed(site, interp.where(), strategy, "reduce"))
        value = arguments.get("value", 1 if name == "reduce" else 0) or Unknown(("reduced", site))
        operation = _operation(arguments.get("reduce_op", 0)) if name == "reduce" else "gather"
        interp.emit(events.Reduction(site, interp.where(), strategy, operation, value))
        return Tensor(site)
    if name == "experimental_local_results":
        value = interp.choose(arguments.get("value", 0) or Unknown(("results", site)))
        return Items("tuple", None, value.value if isinstance(value, PerReplica) else Tensor(site))
    interp.emit(events.StrategyUsed(site, interp.where(), strategy, "attribute"))
    return Unknown(("call", ("attribute", strategy.symbol, name), site))


def _operation(value: Value | None) -> str:
    if isinstance(value, External):
        return value.name.rpartition(".")[2].lower()
    if isinstance(value, Constant) and isinstance(value.value, str):
        return value.value.lower()
    return ""


def _run(interp: Interpreter, strategy: Strategy, arguments: Arguments, site: Site) -> Value:
    function = arguments.get("fn", 0) or Unknown(("function", site))
    from gpulint.analysis.calls import handed_on

    args, kwargs = arguments.get("args", 1), arguments.get("kwargs", 2)
    given = handed_on(interp, args, kwargs)
    together, named = (interp.choose(value) if value is not None else None for value in (args, kwargs))
    parts = (together.element if isinstance(together, Items) and together.items is None else together, named)
    whole = tuple(value for value in parts if isinstance(value, (PerReplica, Tensor)))
    passed = (*given.all(), *whole)
    interp.emit(events.StrategyUsed(site, interp.where(), strategy, "run"))
    interp.emit(events.StrategyRun(site, interp.where(), strategy, function, passed, tuple(arguments.sites.values())))
    inner = Arguments(
        tuple(map(local, given.positional)), {key: local(value) for key, value in given.keywords.items()}, given.open
    )
    before = interp.context
    if strategy.is_multi_replica:
        interp.context = before._replace(replica=Replica(site, strategy))
    result = interp.each(function, lambda option: _enter(interp, option, inner, site), site)
    interp.context = interp.context._replace(replica=before.replica)
    return per_replica(result, strategy, site) if strategy.is_multi_replica else result


def _enter(interp: Interpreter, function: Value, arguments: Arguments, site: Site) -> Value:
    from gpulint.analysis import calls

    if isinstance(function, Function):
        return calls.call_function(interp, function, arguments, site)
    if isinstance(function, Bound) and isinstance(function.method, Function):
        return calls.call_function(
            interp,
            function.method,
            calls.with_receiver(function.receiver, arguments),
            site,
            function.receiver,
        )
    if isinstance(function, Unknown):
        return Unknown(("run", function.symbol, site))
    return interp.call(function, arguments, site)


def local(value: Value) -> Value:
    """What one replica sees of a value."""

    def change(one: Value) -> Value:
        return one.value if isinstance(one, PerReplica) else one

    return rebuilt(value, change, lambda items, parts: Items(items.kind, parts, None, items.symbol))


def per_replica(value: Value, strategy: Strategy, site: Site) -> Value:
    """What `run` gives for what the replica function returns."""

    def change(one: Value) -> Value:
        return PerReplica(site, strategy, one) if isinstance(one, (Tensor, Variable)) else one

    return rebuilt(value, change, partial(like, name=("run", site)), (Items, Mapping))


def _distribute(interp: Interpreter, strategy: Strategy, name: str, arguments: Arguments, site: Site) -> Value:
    interp.emit(events.StrategyUsed(site, interp.where(), strategy, "distribute"))
    given = interp.choose(arguments.get("dataset", 0) or arguments.get("dataset_fn", 0) or NONE)
    if name in _FROM_FUNCTION:
        made = interp.call(given, Arguments((Unknown(("input context", site)),)), site)
        return interp.each(made, lambda one: _of_function(interp, strategy, name, one, site), site)
    if name == "experimental_distribute_values_from_function":
        members.escaped(interp, given, "passed", site)
        return PerReplica(site, strategy, Tensor(site))
    return interp.each(given, lambda one: _distributed(interp, strategy, name, one, site), site)


def _of_function(interp: Interpreter, strategy: Strategy, name: str, made: Value, site: Site) -> Value:
    interp.emit(events.DatasetDistributed(site, interp.where(), strategy, made, name))
    if not isinstance(made, Dataset):
        return Dataset(site, name, (), None, strategy)
    inputs = (made.but(steps=()),)
    return Dataset(site, name, made.steps, None, strategy, None, made.arguments, inputs, made.options)


def _distributed(interp: Interpreter, strategy: Strategy, name: str, given: Value, site: Site) -> Value:
    interp.emit(events.DatasetDistributed(site, interp.where(), strategy, given, name))
    if isinstance(given, Dataset):
        return given.but(distributed=strategy)
    return Dataset(site, "unknown", (), None, strategy)
