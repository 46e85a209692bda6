"""gpulint finds out why the GPUs of a TensorFlow program are idle.

For programs and notebooks: `gpulint.check_source`, `gpulint.check_paths` and `gpulint.plan` are the commands `check`
and `plan` as functions; `gpulint.expect` states expectations about devices, `gpulint.watch` watches a block,
`gpulint.KerasCallback` watches a `fit`. Each is imported at first use.
"""

from __future__ import annotations

import os
import sys

# With `python -m gpulint` the working directory comes first on the path: modules of a project that is only to be read
# must not shadow the standard library, or the packages that gpulint is built on.
if sys.argv[:1] == ["-m"] and not getattr(sys.flags, "safe_path", False):
    if sys.path[:1] == [os.getcwd()] and os.path.dirname(os.path.dirname(os.path.abspath(__file__))) != sys.path[0]:
        del sys.path[0]

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpulint._version import __version__ as __version__

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
