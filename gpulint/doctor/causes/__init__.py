"""The causes, one module for each group, and which of them explain others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from gpulint.doctor.causes import (
    capability,
    container,
    driver,
    environment,
    hardware,
    importing,
    installation,
    libraries,
    memory,
    running,
    selection,
    visibility,
)
from gpulint.doctor.diagnosis import Code, Diagnosis
from gpulint.doctor.evidence import Evidence
from gpulint.linting.finding import Severity

CAUSES: tuple[Callable[[Evidence], Iterator[Diagnosis]], ...] = (
    installation.diagnose,
    importing.diagnose,
    container.diagnose,
    hardware.diagnose,
    driver.diagnose,
    visibility.diagnose,
    libraries.diagnose,
    capability.diagnose,
    selection.diagnose,
    running.diagnose,
    memory.diagnose,
    environment.diagnose,
)
"""Groups of causes in the order of cause and effect: the first is to be fixed first."""

_EXPLAINED: Mapping[Code, tuple[Code, ...]] = {
    "import-fails": (
        "no-tensorflow",
        "tensorflow-shadowed",
        "tensorflow-leftover",
        "two-tensorflows",
        "unknown-xla-flag",
    ),
    "import-crashes": ("tensorflow-shadowed", "unknown-xla-flag", "two-tensorflows"),
    "import-hangs": ("tensorflow-shadowed",),
    "driver-missing": ("driver-mismatch",),
    "driver-library": ("driver-missing", "container-without-gpu", "container-capabilities", "wsl-driver"),
    "driver-refuses": (
        "driver-missing",
        "driver-library",
        "driver-mismatch",
        "driver-stub",
        "driver-too-old",
        "driver-uvm",
        "container-without-gpu",
        "container-capabilities",
        "device-files-denied",
        "gpus-hidden",
        "mig-without-instance",
        "no-gpu",
    ),
    "no-gpu": ("container-without-gpu", "wsl-driver"),
}
"""A diagnosis → those that explain it: it is dropped beside one of them."""

_LAST: Code = "no-gpu-listed"
"""The diagnosis if nothing else explains it."""


def diagnose(evidence: Evidence) -> Sequence[Diagnosis]:
    """The diagnoses, errors first, each group in the order of CAUSES.

    There are no errors if TensorFlow computed on every GPU that it lists: a successful run outweighs other evidence.
    """
    found = [one for cause in CAUSES for one in cause(evidence)]
    if evidence.works:
        found = [replace(one, severity=Severity.WARNING) if one.severity is Severity.ERROR else one for one in found]
    ids = {one.id for one in found}
    errors = any(one.severity is Severity.ERROR and one.id != _LAST for one in found)
    kept = [
        one for one in found if not ids.intersection(_EXPLAINED.get(one.id, ())) and not (one.id == _LAST and errors)
    ]
    order = list(Severity)
    return sorted(kept, key=lambda one: order.index(one.severity))
