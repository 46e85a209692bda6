"""What XLA compiles is one unit on one device: what is said inside of it about devices is not done."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.capture import Capture
from gpulint.probe.expectation import Expectation, Level, Run, Status, violated

_ID = "xla-opaque"


def check(run: Run) -> Iterator[Expectation]:
    """Each compiled function: its operations are not seen; device scopes inside it that ask for another device."""
    capture = run.capture
    for name, where in capture.compiled.items():
        reason = "XLA compiles it as one unit; --no-jit shows its operations"
        subject = f"operations inside `{name}`"
        yield Expectation(_ID, Status.SKIP, Level.WARN, subject, "on the device of the call", reason, where=where)
    told = set()
    for inner in sorted(capture.inner_devices, key=str):
        device = _device_of(inner.function, capture)
        if inner.device == device or (inner.where, inner.device) in told:
            continue
        told.add((inner.where, inner.device))
        yield violated(
            _ID,
            f"`tf.device` inside `{inner.function}`, which XLA compiles",
            f"operations on {inner.device}",
            f"it is ignored: all of the function runs on {device or 'the device of its call'}",
            where=inner.where,
            fix="put the scope around the call, or compile only what is inside it",
            level=Level.WARN,
        )


def _device_of(function: str, capture: Capture) -> str:
    return next((one.device for one in capture.functions.values() if one.name == function), "")
