"""Training steps of TensorFlow 1 sessions."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from gpulint.estimate.agent.names import GRADIENT


def trains(graph: Any, fetches: Iterable[Any]) -> bool:
    """Whether computing what a session is asked for takes gradients. `fetches` are tensors, operations and names."""
    pending = []
    for one in fetches:
        with suppress(KeyError, TypeError, ValueError):  # the session itself refuses it
            found = graph.as_graph_element(one)
            pending.append(getattr(found, "op", found))
    seen = set()
    while pending:
        operation = pending.pop()
        if operation in seen:
            continue
        seen.add(operation)
        if GRADIENT.search(operation.name):
            return True
        pending += [tensor.op for tensor in operation.inputs]
        pending += operation.control_inputs
    return False
