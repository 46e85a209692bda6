"""Optimizers: how a program creates, wraps and looks them up."""

from __future__ import annotations

from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, Unknown, Value, known
from gpulint.analysis.domain.values.containers import Mapping
from gpulint.analysis.domain.values.objects import Optimizer
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.handlers import Handler
from gpulint.analysis.models.tensorflow import api_removals, objects
from gpulint.analysis.models.unmodelled_calls import call_unmodelled
from gpulint.knowledge import LEGACY_OPTIMIZERS
from gpulint.knowledge.facts import Fact
from gpulint.places import Site


def of_class(machine: Machine, name: str, known: Fact, arguments: Arguments, site: Site) -> Value:
    scales = name.endswith(".LossScaleOptimizer")
    inner = arguments.get("inner_optimizer", 0) if scales else None
    if inner is not None:
        wrapped = machine.choose(inner)
        name = wrapped.library if isinstance(wrapped, Optimizer) else LEGACY_OPTIMIZERS
    api_removals.optimizer_arguments(machine, name, arguments, site)
    made = objects.make_optimizer(machine, site, name, is_refused=_is_refused(machine, arguments))
    made.scales = scales
    made.has_slots = not name.endswith(".SGD") or arguments.open or arguments.get("momentum", 1) is not None
    made.accumulates = _accumulates(arguments)
    made.may_accumulate = _may_accumulate(arguments)
    return made


def _distributed_optimizer(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of Horovod's `DistributedOptimizer`: an optimizer whose class is a subclass of the wrapped one's."""
    steps = arguments.get("backward_passes_per_step")
    accumulates = arguments.open or len(arguments.positional) > 1 or (steps is not None and known(steps) != 1)

    def wrapped(option: Value) -> Value:
        if not isinstance(option, Optimizer):
            return call_unmodelled(machine, "horovod.tensorflow.DistributedOptimizer", arguments, site)
        made = Optimizer(option.site, option.where, option.library, option.cls)
        made.blame, made.seen, made.is_private = option.blame, option.seen, option.is_private
        made.scales, made.has_slots, made.accumulates = option.scales, option.has_slots, option.accumulates
        made.may_accumulate = option.may_accumulate or accumulates
        return made

    return machine.each(arguments.get("optimizer", 0) or NONE, wrapped, site)


def _is_refused(machine: Machine, arguments: Arguments) -> bool:
    """Whether an optimizer that creates variables raises for an argument: `lr` (run on 2.21), `decay` in Keras 2."""
    return "lr" in arguments.keywords or ("decay" in arguments.keywords and not machine.plan.has_keras_3)


def _accumulates(arguments: Arguments) -> bool:
    """Whether an optimizer is configured to accumulate the gradients of several steps."""
    steps = known(arguments.get("gradient_accumulation_steps"))
    return isinstance(steps, int) and steps > 1


def _may_accumulate(arguments: Arguments) -> bool:
    """Whether an optimizer accumulates gradients, or may do so because the number of steps is unknown."""
    steps = arguments.get("gradient_accumulation_steps")
    return arguments.open or (steps is not None and known(steps) not in (None, 1))


def _some_optimizer(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return objects.make_optimizer(machine, site, "tensorflow.keras.optimizers.Optimizer")


def _optimizer_got(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `keras.optimizers.get`: an optimizer is returned unchanged, a name or config creates one."""

    def got(option: Value) -> Value:
        if isinstance(option, Mapping) or (isinstance(option, Constant) and isinstance(option.value, str)):
            return _some_optimizer(machine, arguments, site)
        return option if isinstance(option, Optimizer) else Unknown(("optimizer", site))

    return machine.each(arguments.get("identifier", 0) or NONE, got, site)


HANDLERS: dict[str, Handler] = {
    **{f"horovod.{name}.DistributedOptimizer": _distributed_optimizer for name in ("tensorflow", "tensorflow.keras")},
    "horovod.keras.DistributedOptimizer": _distributed_optimizer,
    "tensorflow.keras.optimizers.Optimizer": _some_optimizer,
    "tensorflow.keras.optimizers.deserialize": _some_optimizer,
    "tensorflow.keras.optimizers.get": _optimizer_got,
}
"""The functions by canonical name."""
