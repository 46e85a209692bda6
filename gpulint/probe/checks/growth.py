"""Memory growth, where a program sets it, holds for all GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.capture import Capture
from gpulint.probe.expectation import Expectation, Run, held, violated

_ID = "growth-set"
_SETTER = "tf.config.experimental.set_memory_growth"


def check(run: Run) -> Iterator[Expectation]:
    """The GPUs for which growth was set, against those that TensorFlow uses. What raised is told of elsewhere."""
    capture = run.capture
    gpus = [name for name in capture.logical if name.startswith("GPU")]
    calls = [call for call in capture.calls if call.name == _SETTER]
    if not calls or not gpus or any(call.error for call in calls):
        return
    on = enabled_for(capture)
    missing = [name for name in capture.physical if name.startswith("GPU") and name not in on]
    subject, expected = "memory growth", f"set for {', '.join(gpus)} before the first operation"
    if on and missing:
        yield violated(
            _ID,
            subject,
            expected,
            f"not set for {', '.join(missing)}",
            code="GPU303",
            where=calls[0].where,
            fix="set it in a loop over all GPUs",
        )
    elif on:
        yield held(_ID, subject, expected, "set", where=calls[0].where)


def enabled_for(capture: Capture) -> set[str]:
    """The devices for which the program has set it."""
    calls = (call for call in capture.calls if call.name == _SETTER and not call.error and _enables(call.arguments))
    return {call.arguments.get("0", call.arguments.get("device", "")) for call in calls}


def _enables(arguments: dict[str, str]) -> bool:
    return arguments.get("1", arguments.get("enable", "")) == "True"
