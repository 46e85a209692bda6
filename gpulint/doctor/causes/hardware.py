"""The machine has no GPU."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.doctor.diagnosis import Diagnosis
from gpulint.doctor.evidence import Evidence
from gpulint.linting.finding import Severity


def diagnose(evidence: Evidence) -> Iterator[Diagnosis]:
    machine = evidence.machine
    if machine.wsl and "/dev/dxg" in machine.device_files and not evidence.cards and not evidence.gpus:
        yield Diagnosis(
            "wsl-driver",
            Severity.ERROR,
            f"WSL has /dev/dxg, but the driver shows no card ({evidence.no_cards or 'no answer'})",
            "WSL uses the Windows driver; do not install one under Linux",
            "wsl.exe --update",
        )
        return
    if evidence.has_hardware or evidence.gpus or machine.system == "Darwin":
        return
    if evidence.gpu_expected:
        yield Diagnosis(
            "no-gpu",
            Severity.ERROR,
            f"no NVIDIA GPU is visible, though {evidence.gpu_expected}",
            "neither the PCI bus, the driver nor its device files show one; the command lists NVIDIA's devices",
            "lspci -d 10de:" if machine.system == "Linux" else "",
        )
    else:
        yield Diagnosis(
            "no-gpu",
            Severity.INFO,
            "this machine has no NVIDIA GPU",
            "TensorFlow runs on the CPU, as expected",
        )
