"""The program's configuration of devices: memory growth, logical devices, and errors of such calls."""

from __future__ import annotations

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Call

SET_GROWTH = "tf.config.experimental.set_memory_growth"
_LIMITERS = (
    "tf.config.set_logical_device_configuration",
    "tf.config.experimental.set_virtual_device_configuration",
)
_FORCED = "TF_FORCE_GPU_ALLOW_GROWTH"

_CODES = (
    ("cannot be modified after being initialized", "GPU301"),
    ("cannot be modified once initialized", "GPU301"),
    ("cannot be modified after initialization", "GPU301"),
    ("Memory growth cannot differ", "GPU303"),
    ("when virtual devices configured", "GPU306"),
)
"""Parts of TensorFlow's error messages (`tensorflow/python/eager/context.py` of 2.16 and 2.21) → the rule about
them."""


def growth_in_force(capture: Capture) -> bool | None:
    """Whether memory growth is in force for GPUs, None if unknown. The environment overrides the program
    (`GetAllowGrowthValue` in TensorFlow's `gpu_bfc_allocator.cc`)."""
    forced = capture.environment.get("runtime", {}).get(_FORCED, "").lower()
    return forced == "true" if forced in ("true", "false") else capture.growth


def is_split(call: Call) -> bool:
    """Whether a call split a device into logical ones."""
    return call.name in _LIMITERS and not call.error


def growth_enabled_for(capture: Capture) -> set[str]:
    """The devices for which the program enabled growth."""
    calls = (call for call in capture.calls if call.name == SET_GROWTH and not call.error)
    return {device_of(call) for call in calls if call.arguments.get("1", call.arguments.get("enable")) == "True"}


def device_of(call: Call) -> str:
    """The device that a configuration call is about."""
    return call.arguments.get("0", call.arguments.get("device", ""))


def rule_of(error: str) -> str:
    """The rule about an error of a configuration call, "" for none."""
    return next((code for part, code in _CODES if part in error), "")
