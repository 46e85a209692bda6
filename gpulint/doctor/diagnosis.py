"""Diagnoses: causes found in the evidence."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from gpulint.doctor.evidence import Evidence
from gpulint.linting.finding import Severity


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One cause: the observation, why it matters, and the one command that fixes it ("" if there is none).

    An error keeps TensorFlow from an expected GPU; a warning costs speed, memory or some of the GPUs; the rest is
    information. `evidence` holds messages and paths verbatim.
    """

    id: str
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
