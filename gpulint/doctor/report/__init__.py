"""Reports of the doctor, one module for each format, with `render(report, color)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from gpulint.doctor.diagnosis import Diagnosis
from gpulint.doctor.evidence import Evidence
from gpulint.linting.finding import Severity

FORMATS = ("text", "json")
"""Format names; each is a module of this package."""


@dataclass(frozen=True, slots=True)
class MachineReport:
    """The evidence and its diagnoses, worst first."""

    evidence: Evidence
    diagnoses: Sequence[Diagnosis]

    @property
    def status(self) -> int:
        """The exit status: 1 if something keeps TensorFlow from an expected GPU."""
        return int(any(one.severity is Severity.ERROR for one in self.diagnoses))

    @property
    def verdict(self) -> str:
        """The result in one line."""
        errors = sum(one.severity is Severity.ERROR for one in self.diagnoses)
        gpus, computed = len(self.evidence.gpus), len(self.evidence.computed)
        if errors:
            return f"{errors} {'problem keeps' if errors == 1 else 'problems keep'} TensorFlow from its GPUs"
        if not gpus:
            return "TensorFlow has no GPU here, and nothing suggests that it should"
        noun = "GPU" if gpus == 1 else "GPUs"
        return f"TensorFlow {'computes on' if computed == gpus else 'lists'} {gpus} {noun}"


def render(form: str, report: MachineReport, color: bool) -> str:
    """The report in a format. Raises KeyError for an unknown one."""
    if form not in FORMATS:
        raise KeyError(form)
    text: str = import_module(f"{__name__}.{form}").render(report, color)
    return text
