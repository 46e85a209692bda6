"""Tests on a graph of the agent's own, before the program runs anything, that TensorFlow reports what it does.

A graph needs no runtime, which the program may still configure. Functions, which only a run can show, are tested after
the program's first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.operation_records import GRADIENT
from gpulint.probe.capture.evidence import GRADIENT_LINES, OPERATIONS


def silent(internals: Internals, tensorflow: Any) -> Iterator[tuple[str, str]]:
    """(evidence, reason) for functions of TensorFlow that exist and report nothing."""
    seen: list[str] = []

    def note(op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None) -> Any:
        if graph is not None and outputs:
            seen.append(str(outputs[0].op.name))
        return outputs if graph is not None and internals.calls_others_back else None

    if not internals.watch_operations(note):
        return
    try:
        with tensorflow.Graph().as_default(), tensorflow.GradientTape() as tape:
            value = tensorflow.constant(2.0)
            tape.watch(value)
            tape.gradient(value * value, value)
    finally:
        internals.forget_operations(note)
    if not seen:
        yield OPERATIONS, "TensorFlow reported none of a test"
    elif not any(name.startswith(GRADIENT) for name in seen):
        yield GRADIENT_LINES, f"TensorFlow does not name gradients `{GRADIENT}…`"
