"""What is recorded of operations: nodes that were built, eager operations that ran, transfers between devices."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from gpulint.probe.agent.places import Place

_FUNCTION = re.compile(r"__(?:inference|forward|backward)_(.+)_\d+$")

EAGER_COPY = "EagerCopy"


@lru_cache(maxsize=4096)
def graph_of(function: str) -> str | None:
    """The name of the graph that a trace was made of: `step` of `__inference_step_31`; None for other names."""
    found = _FUNCTION.match(function)
    return found[1] if found else None


class Created(NamedTuple):
    """A node of a graph that was built: its kind, the line that built it or its forward operation, and the bytes of
    its first output, None where they are not known or there is nowhere to copy them to."""

    op: str
    place: Place | None
    size: int | None = None


class Ran(NamedTuple):
    """Eager operations of one kind at one place."""

    place: Place | None
    op: str
    requested: str
    device: str
    dtype: int


class Copied(NamedTuple):
    """Transfers between devices for an operation at one place, `op` being what needs them. `kind` is that of the node,
    `EAGER_COPY` outside graphs. `in_step`: in the graph of a training step. `mixed`: it also reads what was computed on
    another device than this."""

    place: Place | None
    kind: str
    source: str
    target: str
    op: str
    requested: str
    size: int | None
    in_step: bool
    mixed: bool
