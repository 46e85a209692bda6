"""gpulint finds out why the GPUs of a TensorFlow program are idle.

For programs and notebooks: `gpulint.check_source`, `gpulint.check_paths` and `gpulint.plan` are the commands `check`
and `plan` as functions; `gpulint.expect` states expectations about devices, `gpulint.watch` watches a block,
`gpulint.KerasCallback` watches a `fit`. Each is imported at first use. Importing gpulint changes nothing in the
process.
"""

# `python -m gpulint` imports this module while the working directory is first on the path, so it imports nothing that
# is not loaded already: not even `typing` and `__future__`, which a file of that name there would replace.
from importlib import import_module

from gpulint._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpulint import expect
    from gpulint.discovery import MissingPath
    from gpulint.library import PlanBound, PlanCall, PlanNote, PlanView, check_paths, check_source, plan
    from gpulint.linting.finding import Finding, Related, Severity
    from gpulint.linting.result import CheckResult
    from gpulint.places import Span
    from gpulint.probe.watching.keras_callback import KerasCallback
    from gpulint.probe.watching.watch import Broken, Watch, watch
    from gpulint.settings import LintSettings, ProbeSettings, Settings, SettingsError

__all__ = [
    "Broken",
    "CheckResult",
    "Finding",
    "KerasCallback",
    "LintSettings",
    "MissingPath",
    "PlanBound",
    "PlanCall",
    "PlanNote",
    "PlanView",
    "ProbeSettings",
    "Related",
    "Settings",
    "SettingsError",
    "Severity",
    "Span",
    "Watch",
    "__version__",
    "check_paths",
    "check_source",
    "expect",
    "plan",
    "watch",
]

_HOMES = {
    "Broken": "gpulint.probe.watching.watch",
    "CheckResult": "gpulint.linting.result",
    "Finding": "gpulint.linting.finding",
    "KerasCallback": "gpulint.probe.watching.keras_callback",
    "LintSettings": "gpulint.settings",
    "MissingPath": "gpulint.discovery",
    "PlanBound": "gpulint.library",
    "PlanCall": "gpulint.library",
    "PlanNote": "gpulint.library",
    "PlanView": "gpulint.library",
    "ProbeSettings": "gpulint.settings",
    "Related": "gpulint.linting.finding",
    "Settings": "gpulint.settings",
    "SettingsError": "gpulint.settings",
    "Severity": "gpulint.linting.finding",
    "Span": "gpulint.places",
    "Watch": "gpulint.probe.watching.watch",
    "check_paths": "gpulint.library",
    "check_source": "gpulint.library",
    "plan": "gpulint.library",
    "watch": "gpulint.probe.watching.watch",
}
"""Public name → its module."""


def __getattr__(name: str) -> "Any":
    if name == "expect":
        return import_module("gpulint.expect")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
