"""What the lines that TensorFlow prints about devices say, one type for each kind of line."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias


class Placement(NamedTuple):
    """A graph node got its device: `my_add: (AddV2): /job:localhost/replica:0/task:0/device:CPU:1`.

    `op` is "" in the logs of TensorFlow 0.x, which do not name it.
    """

    node: str
    op: str
    device: str
    whole: bool = True
    """False where other text stands before the line, so that the beginning of the node's name may be missing:
    `op` and `device` are right, `node` is what is left of the name, or "" where it cannot be told from the rest."""


class Execution(NamedTuple):
    """An operation ran outside graphs, or a function was called: `Executing op MatMul in device …`."""

    op: str
    device: str

    @property
    def is_function(self) -> bool:
        """Whether a tf.function ran, or a part of one that a gradient tape made."""
        return self.op.startswith(("__inference_", "__forward_", "__backward_"))


class Mapping(NamedTuple):
    """A session (TensorFlow 1 and compat.v1) knows a device beside the CPUs."""

    device: str
    description: str


class NoMapping(NamedTuple):
    """A session knows no device beside the CPUs: `Device mapping: no known devices.`"""


class Created(NamedTuple):
    """A GPU became a device of TensorFlow. What a release does not print is "" or None."""

    device: str
    memory_mb: int | None
    """The most that TensorFlow will take of the GPU's memory, not the size of that."""
    physical: int
    """The number of the card among those that CUDA shows."""
    name: str
    pci_bus_id: str
    capability: str


class OutOfMemory(NamedTuple):
    """A tensor did not fit. `dtype`, `device` and `allocator` are "" where the message does not name them."""

    shape: tuple[int, ...]
    dtype: str
    device: str
    allocator: str


HintKind = Literal["ignored gpu", "visible gpus", "library", "driver", "xla", "memory", "ignored device"]


class Hint(NamedTuple):
    """A message that says why a program runs where it does, in TensorFlow's words."""

    kind: HintKind
    text: str


Record: TypeAlias = Placement | Execution | Mapping | NoMapping | Created | OutOfMemory | Hint
