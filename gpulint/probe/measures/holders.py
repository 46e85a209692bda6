"""Who holds a device's memory at its peak."""

from __future__ import annotations

from typing import NamedTuple

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where

GROUPS = ("weights", "gradients", "slots", "activations", "input", "workspace", "python", "other")
"""Kinds of holders; part of the JSON report's contract. "slots" are the optimizer's, "python" tensors that only Python
refers to, "other" what the allocator had in use beyond all that is known."""

GROUP_NAMES = {
    "weights": "weights",
    "gradients": "gradients",
    "slots": "optimizer slots",
    "activations": "activations",
    "input": "input buffers",
    "workspace": "workspace",
    "python": "tensors kept by Python",
    "other": "other",
}


class Holder(NamedTuple):
    """Bytes on a device at its peak, by group and the line that created them."""

    device: str
    group: str
    where: Where | None
    bytes: int


class Held(NamedTuple):
    """The memory of one device. `peak` is the sum of the `holders`, largest first; `allocator` is the peak that
    TensorFlow's allocator reports, `process` what the driver says that the process holds, None if unknown."""

    device: str
    peak: int
    allocator: int | None
    process: int | None
    holders: tuple[Holder, ...]


def held(capture: Capture) -> tuple[Held, ...]:
    """The memory of each device with variables or samples of its allocator."""
    return ()
