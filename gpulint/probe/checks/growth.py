"""Memory growth, where a program sets it, holds for all GPUs that it uses."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Call
from gpulint.probe.expectations.expectation import Expectation, Run, held, violated
from gpulint.probe.measures.reasons import has_gpu

_ID = "growth-set"
_SETTER = "tf.config.experimental.set_memory_growth"
_LIMITERS = (
    "tf.config.set_logical_device_configuration",
    "tf.config.experimental.set_virtual_device_configuration",
)
_FORCED = "TF_FORCE_GPU_ALLOW_GROWTH"


def check(run: Run) -> Iterator[Expectation]:
    """The GPUs for which growth was set, against those that TensorFlow uses. What raised is told of elsewhere."""
    capture = run.capture
    gpus = [name for name in capture.visible if name.startswith("GPU")] if has_gpu(capture) else []
    calls = [call for call in capture.calls if call.name == _SETTER]
    on = enabled_for(capture)
    if not on or not gpus or any(call.error for call in calls):
        return
    subject, expected = "memory growth", f"set for {', '.join(gpus)} before the first operation"
    missing = [name for name in gpus if name not in on]
    if missing:
        yield violated(
            _ID,
            subject,
            expected,
            f"not set for {', '.join(missing)}",
            code="GPU303",
            where=calls[0].where,
            fix="set it in a loop over all GPUs",
        )
    elif in_force(capture) is False:
        split = [call for call in capture.calls if is_split(call)]
        yield violated(
            _ID,
            subject,
            expected,
            "set, and not in force: TensorFlow drops it where a device is split into logical ones",
            code="GPU306" if any(device_of(call) in on for call in split) else "",
            where=split[0].where if split else calls[0].where,
            fix="keep one of the two",
        )
    else:
        yield held(_ID, subject, expected, "set", where=calls[0].where)


def in_force(capture: Capture) -> bool | None:
    """Whether GPUs take memory as they need it, None where that is not known. The environment has the last word
    (`GetAllowGrowthValue` of TensorFlow's `gpu_bfc_allocator.cc`)."""
    forced = capture.environment.get("runtime", {}).get(_FORCED, "").lower()
    return forced == "true" if forced in ("true", "false") else capture.growth


def is_split(call: Call) -> bool:
    """Whether a call has split a device into logical ones."""
    return call.name in _LIMITERS and not call.error


def enabled_for(capture: Capture) -> set[str]:
    """The devices for which the program has set it."""
    calls = (call for call in capture.calls if call.name == _SETTER and not call.error)
    return {device_of(call) for call in calls if call.arguments.get("1", call.arguments.get("enable")) == "True"}


def device_of(call: Call) -> str:
    """The device that a call of configuration is about."""
    return call.arguments.get("0", call.arguments.get("device", ""))
