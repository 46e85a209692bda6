"""XLA compiles a function as one unit for one device: device scopes inside it have no effect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status, violated
from gpulint.probe.verdicts.evidence import of_replicas

_ID = "xla-opaque"


def check(run: Run) -> Iterator[Expectation]:
    """Each compiled function: its operations are not visible; device scopes inside it that request another device."""
    capture = run.capture
    for name, where in capture.compiled.items():
        reason = "XLA compiles it as one unit; --no-jit shows its operations"
        subject = f"operations inside `{name}`"
        yield Expectation(_ID, Status.SKIP, Level.WARN, subject, "on the device of the call", reason, where=where)
    if of_replicas(capture) is not None:
        return  # each replica requests its own device
    asked: dict[tuple[str, str], list[Where]] = defaultdict(list)
    for inner in capture.inner_devices:
        if inner.where is not None and inner.device != _device_of(inner.function, capture):
            asked[inner.function, inner.device].append(inner.where)
    for (name, device), places in sorted(asked.items()):
        yield violated(
            _ID,
            f"`tf.device` inside `{name}`, which XLA compiles",
            f"operations on {device}",
            f"it is ignored: all of the function runs on {_device_of(name, capture) or 'the device of its call'}",
            where=min(places),
            fix="put the scope around the call, or compile only what is inside it",
            level=Level.WARN,
        )


def _device_of(function: str, capture: Capture) -> str:
    return next((one.device for one in capture.functions.values() if one.name == function), "")
