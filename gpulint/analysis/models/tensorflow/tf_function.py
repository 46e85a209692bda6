"""`tf.function`: tracing functions and calling the traced ones."""

from __future__ import annotations

from gpulint.analysis.domain.context import Context
from gpulint.analysis.domain.path_conditions import EVERYWHERE
from gpulint.analysis.domain.traversal import leaves_on
from gpulint.analysis.domain.values.base import NONE, Arguments, Value, known
from gpulint.analysis.domain.values.functions import Function, Traced
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import tensors
from gpulint.analysis.plan.events import FunctionTraced, TracedCalled
from gpulint.places import Site


def trace(machine: Machine, function: Value, jit: Value, site: Site, has_signature: bool = False) -> Value:
    """Result of `tf.function(function, jit_compile=jit)`."""
    machine.emit(FunctionTraced(site, machine.where(), function, jit))
    return Traced(function, site, jit, has_signature)


def call_traced(
    machine: Machine, function: Traced, arguments: Arguments, site: Site, receiver: Value | None = None
) -> Value:
    """Result of calling a `tf.function`, whose body is traced and not run eagerly."""
    if machine.context.traced is None:
        machine.emit(
            TracedCalled(
                site,
                machine.where(),
                function.function,
                function.jit,
                function.site,
                arguments,
                function.has_signature,
            )
        )
    before = machine.context
    machine.context = _inside(before, function)
    inner = function.function
    if receiver is not None:
        result = machine.call_method(receiver, inner, arguments, site)
    else:
        result = machine.call(inner, arguments, site)
    machine.context = machine.context._replace(traced=before.traced, jitted=before.jitted)
    return _compiled(tensors.result_of_traced(result, site, arguments.all())) if before.traced is None else result


def call_entry(
    machine: Machine, function: Value, arguments: Arguments, site: Site, receiver: Value | None = None
) -> Value:
    """Result of calling a function that nothing in the program calls, `NONE` where it cannot be followed."""
    if isinstance(function, Traced):
        machine.context = _inside(machine.context, function)
        function = function.function
    return machine.call_function(function, arguments, site, receiver) if isinstance(function, Function) else NONE


def _inside(context: Context, function: Traced) -> Context:
    """Context inside a `tf.function` that is called in `context`."""
    return context._replace(
        traced=function.site, jitted=function.site if known(function.jit) is True else context.jitted
    )


def _compiled(value: Value) -> Value:
    """Mark the tensors that a `tf.function` returns to eager code."""
    for one in leaves_on(EVERYWHERE, value):
        if isinstance(one, Tensor):
            one.compiled = True
    return value
