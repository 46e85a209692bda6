"""gpulint: why the GPUs of a TensorFlow program sit idle.

For programs and notebooks: `gpulint.expect` says what is expected of devices, `gpulint.watch` looks at what they do,
`gpulint.KerasCallback` does so while a model is fitted. Each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpulint import expect as expect
    from gpulint.probe.keras_callback import KerasCallback as KerasCallback
    from gpulint.probe.watching import Broken as Broken
    from gpulint.probe.watching import Watch as Watch
    from gpulint.probe.watching import watch as watch

__version__ = "0.1.0"

_HOMES = {
    "Broken": "gpulint.probe.watching",
    "KerasCallback": "gpulint.probe.keras_callback",
    "Watch": "gpulint.probe.watching",
    "watch": "gpulint.probe.watching",
}
"""Public name → its module."""


def __getattr__(name: str) -> Any:
    if name == "expect":
        return import_module("gpulint.expect")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
