"""Records of operations: nodes created, eager operations run, transfers between devices."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from gpulint.probe.agent.places import Place

_FUNCTION = re.compile(r"__(?:inference|forward|backward)_(.+)_\d+$")

_OF_PIPELINE = re.compile(r"^Dataset_(?!scan_scan_body)")

GRADIENT = "gradient_tape/"
"""Prefix of the names of nodes that compute gradients."""

EAGER_COPY = "EagerCopy"

SHARING = frozenset(
    {
        *("ReadVariableOp", "Identity", "IdentityN", "Reshape", "ExpandDims", "Squeeze", "StopGradient", "Snapshot"),
        *("PreventGradient", "CheckNumerics", "EnsureShape", "Bitcast"),
    }
)
"""Operations whose outputs share the memory of an input."""


@lru_cache(maxsize=4096)
def graph_of(function: str) -> str | None:
    """The graph that a trace belongs to: `step` of `__inference_step_31`; None for other names."""
    found = _FUNCTION.match(function)
    return found[1] if found else None


def is_of_pipeline(graph: str) -> bool:
    """Whether a graph belongs to a function that tf.data calls: of `map`, `filter` and similar, not a loop's body."""
    return _OF_PIPELINE.match(graph) is not None


class Created(NamedTuple):
    """A graph node: its kind, the line that created it or its forward operation, and bytes of its first output, None
    if unknown or if there is only one device. `part` is the part of a strategy's own work that it belongs to, "" for
    none."""

    op: str
    place: Place | None
    size: int | None = None
    part: str = ""


class Ran(NamedTuple):
    """Eager operations of one kind on one line; `part` as in `Created`."""

    place: Place | None
    op: str
    requested: str
    device: str
    dtype: int
    part: str = ""


class Copied(NamedTuple):
    """Transfers between devices for an operation on one line; `op` is the operation that needs them, `kind` the kind
    of node, `EAGER_COPY` outside graphs. `in_step`: in the graph of a training step. `mixed`: the operation also
    reads tensors computed on a device other than the source. `reduces`: part of a strategy's reduction,
    which keeps mirrored values equal."""

    place: Place | None
    kind: str
    source: str
    target: str
    op: str
    requested: str
    size: int | None
    in_step: bool
    mixed: bool
    reduces: bool = False
