"""gpulint: why the GPUs of a TensorFlow program sit idle.

For programs and notebooks: `gpulint.check_source`, `gpulint.check_paths` and `gpulint.plan` do what the commands
`check` and `plan` do, as functions of their arguments; `gpulint.expect` says what is expected of devices,
`gpulint.watch` looks at what they do, `gpulint.KerasCallback` does so while a model is fitted.
Each is imported when it is first used.
"""

from __future__ import annotations

import os
import sys

# `python -m gpulint` would look into the working directory first, for every module that is imported from here on: a
# project that is only to be read must not stand for the standard library, or for what gpulint is built on.
if sys.argv[:1] == ["-m"] and not getattr(sys.flags, "safe_path", False):
    if sys.path[:1] == [os.getcwd()] and os.path.dirname(os.path.dirname(os.path.abspath(__file__))) != sys.path[0]:
        del sys.path[0]

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpulint import expect as expect
    from gpulint.library import PlanView as PlanView
    from gpulint.library import check_paths as check_paths
    from gpulint.library import check_source as check_source
    from gpulint.library import plan as plan
    from gpulint.linting.finding import Finding as Finding
    from gpulint.linting.finding import Severity as Severity
    from gpulint.linting.result import CheckResult as CheckResult
    from gpulint.probe.watching.keras_callback import KerasCallback as KerasCallback
    from gpulint.probe.watching.watch import Broken as Broken
    from gpulint.probe.watching.watch import Watch as Watch
    from gpulint.probe.watching.watch import watch as watch
    from gpulint.settings import Settings as Settings

__version__ = "0.1.0"

_HOMES = {
    "Broken": "gpulint.probe.watching.watch",
    "CheckResult": "gpulint.linting.result",
    "Finding": "gpulint.linting.finding",
    "KerasCallback": "gpulint.probe.watching.keras_callback",
    "PlanView": "gpulint.library",
    "Settings": "gpulint.settings",
    "Severity": "gpulint.linting.finding",
    "Watch": "gpulint.probe.watching.watch",
    "check_paths": "gpulint.library",
    "check_source": "gpulint.library",
    "plan": "gpulint.library",
    "watch": "gpulint.probe.watching.watch",
}
"""Public name → its module."""


def __getattr__(name: str) -> Any:
    if name == "expect":
        return import_module("gpulint.expect")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
