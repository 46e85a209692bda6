"""Code that runs concurrently: targets of threads and processes, and subclasses of `Thread` and `Process`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from gpulint.analysis.domain.completion import PathEnds
from gpulint.analysis.domain.context import Context
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.traversal import leaves
from gpulint.analysis.domain.values.base import Arguments, Unknown, Value
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.engine.calls import arguments_from
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow.device_runtime import state
from gpulint.analysis.plan.events import (
    Event,
    GradientTaken,
    ModelCalled,
    ModelFitted,
    OpCalled,
    ProcessStarted,
    TracedCalled,
)
from gpulint.places import Site

THREADS = frozenset({"threading.Thread", "threading.Timer"})
PROCESSES = frozenset({"multiprocessing.Process", "multiprocessing.process.Process", "multiprocessing.context.Process"})

POOLS = frozenset(
    {
        "concurrent.futures.ProcessPoolExecutor",
        "concurrent.futures.process.ProcessPoolExecutor",
        "multiprocessing.Pool",
        "multiprocessing.pool.Pool",
    }
)
"""Pools of processes. As context managers they return themselves."""

_POOL_METHODS = frozenset(
    {"apply", "apply_async", "imap", "imap_unordered", "map", "map_async", "starmap", "starmap_async", "submit"}
)
"""Methods of a pool that call their first argument in another process."""


def run_target(machine: Machine, name: str, arguments: Arguments, site: Site) -> None:
    """Run the function `target` of a thread or process with its `args` and `kwargs`, as if it started on creation."""
    function = arguments.get("target", 1)
    if function is None:
        return
    given = arguments_from(machine, arguments.get("args", 3), arguments.get("kwargs", 4))
    _call_outside_scopes(
        machine, function, lambda option: machine.call(option, given, site), site, name in PROCESSES, given.all()
    )


def run_in_pool(machine: Machine, pool: Symbol, method: str, arguments: Arguments, site: Site) -> None:
    """Run the function that a method of a pool of processes calls, with unknown arguments."""
    function = arguments.positional[0] if arguments.positional else None
    if function is not None and method in _POOL_METHODS and pool.origin in POOLS:
        _call_outside_scopes(
            machine, function, lambda option: machine.call(option, Arguments(open=True), site), site, True
        )


def starts(receiver: Instance, name: str) -> bool:
    """Whether `receiver.name()` starts an instance of a program class that is a thread or a process."""
    return (
        name == "start" and receiver.cls is not None and not (THREADS | PROCESSES).isdisjoint(receiver.cls.libraries())
    )


def run_started(machine: Machine, receiver: Instance, site: Site) -> None:
    """Run the `run` method of such an instance."""
    if receiver.cls is not None and (body := receiver.cls.find("run")) is not None:
        is_process = not PROCESSES.isdisjoint(receiver.cls.libraries())
        run, none = body[0], Arguments()
        _call_outside_scopes(
            machine, run, lambda option: machine.call_method(receiver, option, none, site), site, is_process
        )


def _call_outside_scopes(
    machine: Machine,
    function: Value,
    call: Callable[[Value], Value],
    site: Site,
    is_process: bool,
    given: Sequence[Value] = (),
) -> None:
    """Call a function outside the present scopes and loops: threads enter their own.

    Whether the runtime is initialised by then is unknown. State changes made in a process are not visible to the
    others.
    """
    context, runtime = machine.context, dict(machine.library_state.runtime)
    mark = machine.state.mark()
    before, since = state(machine)
    where, first = machine.where(), len(machine.plan.events)
    machine.context = Context()
    machine.state.write(machine.library_state.runtime, "state", Unknown(("runtime",)))
    with suppress(PathEnds):
        machine.each(function, call, site)
    machine.context = context
    if is_process:
        machine.state.take_back(mark)
        passed = any(isinstance(leaf, Tensor) for value in given for leaf in leaves(value))
        computes = _computes(machine.plan.events[:first], machine.plan.events[first:], passed)
        machine.emit(ProcessStarted(site, where, before, since, computes))
    else:
        for key, value in runtime.items():
            machine.state.write(machine.library_state.runtime, key, value)


def _computes(before: Sequence[Event], inside: Sequence[Event], passed: bool) -> bool:
    """Whether a process computes something that needs the GPU or TensorFlow's threads: with a model, a `tf.function` or
    gradients, a product of matrices, or something with a tensor of its parent. `passed`: it is given such a tensor."""
    called = [event for event in inside if isinstance(event, OpCalled)]
    if any(isinstance(event, _COMPUTING) for event in inside) or any(event.name in _PRODUCTS for event in called):
        return True
    if passed and any(event.name.startswith("operator.") for event in called):
        return True
    inherited = {id(event.result) for event in before if isinstance(event, OpCalled)} if called else ()
    return any(id(one) in inherited for event in called for one in event.inputs)


_PRODUCTS = frozenset({"operator.@", "tensorflow.einsum", "tensorflow.matmul", "tensorflow.tensordot"})

_COMPUTING = (GradientTaken, ModelCalled, ModelFitted, TracedCalled)
