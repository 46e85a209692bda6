"""Tables about TensorFlow and its releases. Not covered by `VERSION`."""

from __future__ import annotations

from gpulint.knowledge import FIRST_WITH_VARIABLES, LEGACY_OPTIMIZERS, fact, has_gpu_kernel, removed
from gpulint.knowledge.devices import DeviceName, parse_device
from gpulint.knowledge.operations import operation, operations, random_operation
from gpulint.knowledge.successors import successor
from gpulint.knowledge.watched import (
    CLEARS_SESSION,
    LOADS_MODEL,
    MAKES_GRAPH,
    RUNS_EAGERLY,
    SAVES_MODEL,
    SETS_FLOATX,
    SETS_POLICY,
)
from gpulint.sources.releases import release

__all__ = [
    "CLEARS_SESSION",
    "FIRST_WITH_VARIABLES",
    "LEGACY_OPTIMIZERS",
    "LOADS_MODEL",
    "MAKES_GRAPH",
    "RUNS_EAGERLY",
    "SAVES_MODEL",
    "SETS_FLOATX",
    "SETS_POLICY",
    "DeviceName",
    "fact",
    "has_gpu_kernel",
    "operation",
    "operations",
    "parse_device",
    "random_operation",
    "release",
    "removed",
    "successor",
]
