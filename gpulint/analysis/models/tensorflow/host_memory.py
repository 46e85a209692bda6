"""Which tensors are in host memory, so that reading them waits for no GPU."""

from __future__ import annotations

from gpulint.analysis.domain.path_conditions import EVERYWHERE
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.values.base import Unknown, Value
from gpulint.analysis.domain.values.objects import Variable
from gpulint.analysis.domain.values.tensors import PerReplica, Tensor
from gpulint.analysis.models.tensorflow import host_sync, loss_reduction

CREATES = frozenset({"tensorflow.constant", "tensorflow.convert_to_tensor", "tensorflow.identity"})


def of_host_values(name: str, inputs: tuple[Value, ...]) -> bool:
    """Whether a tensor is created from host values only, or is a copy of one in host memory. What a list contains that
    gives no inputs is unknown."""
    options = [option for value in inputs for _, option in alternatives(value, EVERYWHERE)]
    if name in loss_reduction.KEEPS_REDUCTION or name in CREATES:
        return all(not isinstance(value, (Tensor, Variable)) or is_on_host(value) for value in options)
    if name.startswith(_RANDOM) or any(map(is_tensor, options)):
        return False
    is_unknown = not inputs or (type(inputs[0]) is Unknown and not host_sync.is_known_host(inputs[0]))
    return not (name in _TAKES_FLOATS and is_unknown)


def counts_shapes(name: str, inputs: tuple[Value, ...]) -> bool:
    """Whether an op or operator computes with int32 shape numbers only, and so in host memory.

    The other operands of such a computation are int32, too, or the op raises.
    """
    tensors = [value for value in inputs if is_tensor(value)]
    return name in _OF_COUNTS and bool(tensors) and all(map(_is_count, tensors))


def _is_count(value: Value) -> bool:
    """Whether a tensor is int32 and derived from shapes. Such a tensor is in host memory in any device scope."""
    if not isinstance(value, Tensor):
        return False
    return (value.shape_of and value.dtype in (None, "int32")) or (value.on_host and value.dtype == "int32")


COMPARES_NUMBERS = frozenset(
    f"tensorflow.{name}" for name in ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
)


_OF_COUNTS = COMPARES_NUMBERS | frozenset(
    {
        *(f"tensorflow.{name}" for name in ("abs", "add", "maximum", "minimum", "multiply", "negative", "subtract")),
        *(f"tensorflow.{name}" for name in ("math.floordiv", "math.floormod", "sign", "square")),
        *(f"tensorflow.{name}" for name in ("concat", "reduce_max", "reduce_min", "reduce_sum", "stack")),
        *(f"operator.{sign}" for sign in ("+", "-", "*", "//", "%")),
    }
)
"""Ops that keep int32 in host memory (kernel registry of 2.21). A product over an axis does not."""


_TAKES_FLOATS = frozenset(
    f"tensorflow.{name}"
    for name in ("exp", "math.log", "math.reduce_std", "math.softmax", "reduce_mean", "sigmoid", "sqrt", "tanh")
)
"""Ops that compute with floats, and so on the device, for any unknown input. They raise for integers, which would stay
in host memory. The exception is the mean, which truncates integers (run on 2.21)."""


_RANDOM = "tensorflow.random."
"""Random numbers are drawn on the device, from a shape in host memory (kernel registry of 2.21)."""


def is_on_host(value: Value) -> bool:
    """Whether a tensor is in host memory.

    int32 variables are: they have no GPU kernel, and ops that compare and compute with int32 work in host memory
    (kernel registry of 2.21).
    """
    if isinstance(value, Variable):
        return value.dtype == "int32" or value.where.context.is_on_cpu
    return isinstance(value, Tensor) and (value.from_data or value.on_host or is_in_cpu_scope(value))


def is_in_cpu_scope(tensor: Tensor) -> bool:
    """Whether the scope in which a tensor was created names a CPU."""
    return tensor.device is not None and tensor.device.is_cpu


def is_tensor(value: Value) -> bool:
    """Whether a value certainly is or contains a tensor, and is not a number of a shape."""
    return isinstance(value, (Variable, PerReplica)) or (isinstance(value, Tensor) and not value.static)
