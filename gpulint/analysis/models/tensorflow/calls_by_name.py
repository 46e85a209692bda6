"""Functions of TensorFlow and Keras whose calls have a meaning of their own."""

from __future__ import annotations

from gpulint.analysis.domain.context import Strategy, StrategyScope
from gpulint.analysis.domain.symbolic import ELEMENT_READ
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, LibraryName, Unknown, Value, known
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.datasets import Transformation
from gpulint.analysis.domain.values.functions import Partial
from gpulint.analysis.domain.values.objects import Tape, Variable
from gpulint.analysis.domain.values.tensors import Reduced, Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.handlers import Handler
from gpulint.analysis.models.tensorflow import dtype_policy, host_sync, tensors, tf_data, tf_function
from gpulint.analysis.models.unmodelled_calls import call_unmodelled
from gpulint.analysis.plan import events
from gpulint.knowledge.watched import GLOBAL_POLICY, POLICIES, SETS_POLICY
from gpulint.places import Site


def _function(machine: Machine, arguments: Arguments, site: Site) -> Value:
    jit = arguments.get("jit_compile") or arguments.get("experimental_compile") or NONE
    signature = arguments.get("input_signature", 1)
    signed = signature is not None and not (isinstance(signature, Constant) and signature.value is None)
    function = arguments.get("func", 0)
    if function is None or isinstance(function, Constant):
        return Partial(LibraryName("tensorflow.function"), arguments._replace(sites={"": site}))
    return machine.each(function, lambda option: tf_function.trace(machine, option, jit, site, signed), site)


def _set_strategy(machine: Machine, arguments: Arguments, site: Site) -> Value:
    strategy = machine.choose(arguments.get("strategy", 0) or NONE)
    if isinstance(strategy, Strategy):
        machine.emit(events.StrategyUsed(site, machine.where(), strategy, "set"))
        machine.context = machine.context._replace(scopes=(StrategyScope(site, strategy),))
    elif known(strategy) is None:
        machine.context = machine.context._replace(scopes=())
    machine.frame.enters = True  # the strategy stays in force when the function returns
    return NONE


def _tape(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return Tape(site, machine.where(), known(arguments.get("persistent", 0)) is True)


def _average_loss(machine: Machine, arguments: Arguments, site: Site) -> Value:
    if (size := arguments.get("global_batch_size", 2)) is not None:
        machine.emit(events.GlobalSizeUsed(site, machine.where(), size, averages=True))
    result = tensors.derived(machine, site, arguments.all())
    if isinstance(result, Tensor):
        return Tensor(site, result.device, None, Reduced("scaled", site), scope=result.scope)
    return result


def _input(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return Tensor(site, symbolic=True)


def _is_tensor(machine: Machine, arguments: Arguments, site: Site) -> Value:
    value = arguments.get("x", 0)
    if isinstance(value, (Tensor, Variable)):
        return Constant(True)
    if isinstance(value, (Constant, Items, Mapping)):
        return Constant(False)
    return call_unmodelled(machine, "tensorflow.is_tensor", arguments, site)


def _transformation(name: str) -> Handler:
    return lambda machine, arguments, site: Transformation(tf_data.calls_of_transformation(name, arguments))


def _logical_device(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return Unknown(("logical device", site))


def _global_policy(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return machine.choose(machine.library_state.policy["global"])


def _indexed_slices(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Values of a sparse tensor (`tf.IndexedSlices`)."""
    return machine.choose(arguments.get("values", 0) or Unknown(("slices", site)))


def _to_numpy(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of a function that reads a tensor: an array."""

    def read(option: Value) -> Value:
        tensors.read_at(machine, option, "numpy", site)
        is_read = isinstance(option, Variable) or (isinstance(option, Tensor) and not option.from_data)
        return host_sync.host_value(site, "numpy") if is_read else Unknown((ELEMENT_READ, site))

    return machine.each(arguments.get("x", 0) or NONE, read, site)


def _first(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """First argument, for wrappers whose addition does not matter to the analysis."""
    return arguments.positional[0] if arguments.positional else Unknown(("first", site))


HANDLERS: dict[str, Handler] = {
    "tensorflow.function": _function,
    "tensorflow.distribute.experimental_set_strategy": _set_strategy,
    "tensorflow.GradientTape": _tape,
    "horovod.tensorflow.DistributedGradientTape": _first,
    "tensorflow.IndexedSlices": _indexed_slices,
    "tensorflow.nn.compute_average_loss": _average_loss,
    "tensorflow.is_tensor": _is_tensor,
    "tensorflow.keras.Input": _input,
    "tensorflow.keras.backend.get_value": _to_numpy,
    "tensorflow.keras.ops.convert_to_numpy": _to_numpy,
    "tensorflow.config.LogicalDeviceConfiguration": _logical_device,
    **{f"tensorflow.data.experimental.{name}": _transformation(name) for name in tf_data.TRANSFORMATIONS},
    **dict.fromkeys(SETS_POLICY, dtype_policy.policy_set),
    "tensorflow.keras.mixed_precision.experimental.set_policy": dtype_policy.policy_set_in_keras_2,
    **dict.fromkeys(POLICIES, dtype_policy.policy_made),
    **dict.fromkeys(GLOBAL_POLICY, _global_policy),
}
"""The functions by canonical name."""
