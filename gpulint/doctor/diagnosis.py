"""Diagnoses: causes found in the evidence."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal, get_args

from gpulint.doctor.evidence import Evidence
from gpulint.linting.finding import Severity

Code = Literal[
    "c-library",
    "capability-compiled",
    "capability-driver",
    "capability-missing",
    "compute-mode",
    "container-capabilities",
    "container-without-gpu",
    "cpu-wheel",
    "cudnn-too-old",
    "device-files-denied",
    "device-order",
    "driver-crashes",
    "driver-hangs",
    "driver-library",
    "driver-mismatch",
    "driver-missing",
    "driver-refuses",
    "driver-stub",
    "driver-too-old",
    "driver-uvm",
    "gpu-allocator",
    "gpu-fails",
    "gpu-hangs",
    "gpu-ignored",
    "gpu-unlisted",
    "gpus-hidden",
    "import-crashes",
    "import-fails",
    "import-hangs",
    "instruction-set",
    "keras-backend",
    "legacy-keras",
    "library-broken",
    "library-elsewhere",
    "library-missing",
    "library-other-version",
    "log-level",
    "macos",
    "memory-held",
    "mig",
    "mig-without-instance",
    "nccl-missing",
    "no-gpu",
    "no-gpu-listed",
    "no-tensorflow",
    "numpy",
    "protobuf",
    "question-failed",
    "tensorflow-leftover",
    "tensorflow-shadowed",
    "two-tensorflows",
    "unknown-xla-flag",
    "visual-c",
    "wheel-version",
    "wheels-not-found",
    "windows-wheel",
    "wsl-driver",
]
"""The id of a diagnosis."""

CODES: tuple[Code, ...] = get_args(Code)
"""All ids, sorted."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One cause: the observation, why it matters, and the one command that fixes it ("" if there is none).

    An error keeps TensorFlow from an expected GPU; a warning costs speed, memory or some of the GPUs; the rest is
    information. `evidence` holds messages and paths verbatim.
    """

    id: Code
    severity: Severity
    seen: str
    why: str
    fix: str = ""
    evidence: tuple[str, ...] = ()


def pip_install(evidence: Evidence, *requirements: str, force: bool = False) -> str:
    """The command that installs something into the examined interpreter."""
    options = ["--force-reinstall"] if force else []
    return shlex.join([evidence.python, "-m", "pip", "install", *options, *requirements])


def with_cuda(evidence: Evidence) -> str:
    """The requirement for a TensorFlow with CUDA's libraries: of the installed release if that has the extra
    `and-cuda` (since 2.14)."""
    if evidence.machine.system != "Linux" or evidence.machine.architecture not in ("x86_64", "AMD64"):
        return "tensorflow"
    version = evidence.version.partition("+")[0]
    parts = version.split(".")
    if len(parts) < 3 or not (parts[0].isdigit() and parts[1].isdigit()) or (int(parts[0]), int(parts[1])) < (2, 14):
        return "tensorflow[and-cuda]"
    return f"tensorflow[and-cuda]=={version}"
