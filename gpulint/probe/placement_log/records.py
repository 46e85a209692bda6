"""The parsed lines, one type for each kind of line."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias


class Placement(NamedTuple):
    """A graph node got its device: `my_add: (AddV2): /job:localhost/replica:0/task:0/device:CPU:1`.

    `op` is "" in logs of TensorFlow 0.x, which omit it.
    """

    node: str
    op: str
    device: str
    whole: bool = True
    """False if other text precedes the line, so that the node's name may be cut off. `op` and `device` are right;
    `node` is the rest of the name, or "" if it cannot be separated."""


class Execution(NamedTuple):
    """An operation ran outside graphs, or a function was called: `Executing op MatMul in device …`."""

    op: str
    device: str

    @property
    def is_function(self) -> bool:
        """Whether a tf.function ran, or a part of one that a gradient tape created."""
        return self.op.startswith(("__inference_", "__forward_", "__backward_"))


class Mapping(NamedTuple):
    """A session (TensorFlow 1 and compat.v1) lists a device other than CPUs."""

    device: str
    description: str


class NoMapping(NamedTuple):
    """A session lists no device other than CPUs: `Device mapping: no known devices.`"""


class Created(NamedTuple):
    """TensorFlow created a GPU device. Fields that a release does not print are "" or None."""

    device: str
    memory_mb: int | None
    """The limit of what TensorFlow allocates, not the size of the GPU's memory."""
    physical: int
    """Index of the GPU among those visible to CUDA."""
    name: str
    pci_bus_id: str
    capability: str


class OutOfMemory(NamedTuple):
    """A tensor did not fit. `dtype`, `device` and `allocator` are "" if the message does not name them."""

    shape: tuple[int, ...]
    dtype: str
    device: str
    allocator: str


HintKind = Literal["ignored gpu", "visible gpus", "library", "driver", "xla", "memory", "ignored device", "profiler"]


class Hint(NamedTuple):
    """A message that explains a placement, in TensorFlow's words."""

    kind: HintKind
    text: str


Record: TypeAlias = Placement | Execution | Mapping | NoMapping | Created | OutOfMemory | Hint
