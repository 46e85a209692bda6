"""The host launches operations more slowly than the device runs them.

TensorFlow's executor takes 4 to 6 µs for an operation on the host of a current GPU: ResNet-50's training step has 8,488
operations and takes 45 ms, of which the GPU needs 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.eager_operations import eager_steps
from gpulint.probe.measures.time_words import duration

LAUNCH = 5e-6
"""Seconds that TensorFlow's executor takes to launch an operation."""

SMALL = 2 * LAUNCH
"""An operation that takes the CPU at most this long does almost no work."""

FAST = 10
"""One step in this many is at least as fast as the step that counts."""

MANY = 100
"""Operations of a step from which launching them can matter."""


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Steps inside functions. On a CPU, the function computes where it launches: only operations that do almost
    nothing are said to be launch-bound."""
    capture, time = observed.capture, observed.time
    launching, operations = time.seconds_of("launch"), time.operations_per_step
    if eager_steps(capture, rare=False) is not None or not launching:
        return
    name, where, is_fit = _function(observed)
    compiled = name in capture.compiled
    told = f"`{name}`" if name else "a step"
    if any(one.busy_share is not None for one in time.devices):
        busy = time.seconds_of("gpu") / time.steps
        whole = busy + launching / time.steps
        text = f"{told} keeps the GPU busy for {duration(busy)} of {duration(whole)}"
        evidence = (
            _launched(operations, time.launch_cost)
            or f"Launching operations takes {duration(launching / time.steps)} of each step."
        )
        yield Candidate("launch-bound", where, text, evidence, _fix(capture, compiled), {"launch": launching})
    elif operations and operations >= MANY and not (is_fit and _compiles_itself(capture)):
        each = _unhindered(observed, operations) or time.launch_cost or launching / time.steps / operations
        if each <= SMALL:
            text = f"{told} runs {operations:,.0f} operations that do almost nothing, {duration(each)} each"
            evidence = f"On a GPU, launching them takes at least {duration(operations * LAUNCH)} per step."
            seconds = min(operations * time.steps * min(each, LAUNCH), launching)
            yield Candidate("launch-bound", where, text, evidence, _fix(capture, compiled), {"launch": seconds})


def _unhindered(observed: Observed, operations: float) -> float:
    """Seconds of an operation in the steps that other programs on the machine slowed down least."""
    launched = sorted(one.parts.get("launch", 0.0) for one in observed.time.each)
    return launched[len(launched) // FAST] / operations if launched else 0.0


def _function(observed: Observed) -> tuple[str, Where | None, bool]:
    """The step's function, "" inside Keras, the line that calls it, and whether that is a `fit`."""
    steps = max(observed.capture.steps.values(), key=lambda one: one.taken, default=None)
    if steps is None:
        return "", None, False
    is_fit = any(one.where == steps.where for one in observed.capture.data)
    return "" if is_fit else steps.name, steps.where, is_fit


def _compiles_itself(capture: Capture) -> bool:
    """Whether `fit` would have XLA compile the step on a GPU: Keras 3 does, but not under a strategy."""
    return capture.keras.startswith("3") and not capture.strategies


def _launched(operations: float | None, cost: float | None) -> str:
    if not operations:
        return ""
    return f"It launches {operations:,.0f} operations" + (f", {duration(cost)} each." if cost else ".")


def _fix(capture: Capture, compiled: bool) -> str:
    larger = "use a larger batch, which takes hardly longer here"
    if compiled:
        return f"{larger[0].upper()}{larger[1:]}."
    return f"Compile it with `jit_compile=True`, or {larger}."
