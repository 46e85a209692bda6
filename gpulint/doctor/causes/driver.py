"""NVIDIA's driver: missing, too old, with mismatched parts, or it refuses, hangs or crashes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.doctor import cuda
from gpulint.doctor.diagnosis import Diagnosis
from gpulint.doctor.evidence import Evidence
from gpulint.linting.finding import Severity

_INSTALLS = {
    "ubuntu": "sudo ubuntu-drivers install",
    "debian": "sudo apt install nvidia-driver",
    "fedora": "sudo dnf install akmod-nvidia",
    "arch": "sudo pacman --sync nvidia nvidia-utils",
    "opensuse-leap": "sudo zypper install nvidia-open-driver-G06-signed-kmp-default",
}
_DOWNLOAD = "https://www.nvidia.com/drivers"

_REFUSALS = (
    (r"\(303\)", "libcuda.so.1, the driver's library, cannot be opened", ""),
    (
        r"SYSTEM_NOT_READY|\(802\)",
        "the machine's NVSwitch needs the fabric manager, which is not running (jax#24866)",
        "sudo systemctl enable --now nvidia-fabricmanager",
    ),
    (
        r"COMPAT_NOT_SUPPORTED|\(804\)",
        "a CUDA forward-compatibility package is in use, but the card or the kernel module does not support it",
        "sudo apt remove 'cuda-compat-*'",
    ),
    (
        r"SYSTEM_DRIVER_MISMATCH|\(803\)",
        "the kernel module and the driver's libraries have different versions",
        "sudo reboot",
    ),
    (
        r"UNKNOWN",
        "usually the module nvidia_uvm is in a bad state, for example after a suspend (pytorch#49081)",
        "sudo modprobe --remove nvidia_uvm && sudo modprobe nvidia_uvm",
    ),
)
"""Refusals of cuInit, the reason, and the fix ("": install the driver). Names as in cuda.h."""

_MISMATCH = re.compile(r"LibRmVersionMismatch|Driver/library version mismatch")


def diagnose(evidence: Evidence) -> Iterator[Diagnosis]:
    if evidence.machine.system == "Linux" and not evidence.machine.wsl:
        yield from _missing(evidence)
        yield from _libraries(evidence)
    yield from _versions(evidence)
    yield from _refuses(evidence)
    yield from _ends(evidence)


def _install(evidence: Evidence) -> str:
    return _INSTALLS.get(evidence.machine.distribution, _DOWNLOAD) if evidence.machine.system == "Linux" else _DOWNLOAD


def _missing(evidence: Evidence) -> Iterator[Diagnosis]:
    machine = evidence.machine
    if not machine.bus_cards or machine.kernel_driver or evidence.cards:
        return
    holders = sorted({one.driver for one in machine.bus_cards if one.driver})
    cards = ", ".join(one.bus for one in machine.bus_cards)
    if "vfio-pci" in holders:
        seen, why, fix = (
            "held by vfio-pci",
            "it is reserved for a virtual machine; the command lists such reservations",
            "sudo driverctl list-overrides",
        )
    elif "nouveau" in holders:
        seen, why, fix = "driven by nouveau", "CUDA needs NVIDIA's own driver", _install(evidence)
    else:
        seen, why, fix = "without a driver", "NVIDIA's kernel module is not loaded", _install(evidence)
    if machine.container:
        why += "; install it on the host, not in the container"
    yield Diagnosis("driver-missing", Severity.ERROR, f"NVIDIA GPU {cards} is {seen}", why, fix)


def _libraries(evidence: Evidence) -> Iterator[Diagnosis]:
    machine = evidence.machine
    for one in evidence.libraries:
        if one.name == "libcuda.so.1" and "/stubs/" in one.path:
            yield Diagnosis(
                "driver-stub",
                Severity.ERROR,
                f"libcuda.so.1 is opened from {one.path}",
                "that file is a stub for linking, and refuses every call (tensorflow#46227)",
                "export LD_LIBRARY_PATH="
                + ":".join(
                    part for part in (machine.variable("LD_LIBRARY_PATH") or "").split(":") if "stubs" not in part
                ),
            )
        elif one.name in cuda.DRIVER_LIBRARIES and not one.path and machine.kernel_driver and not evidence.gpus:
            yield Diagnosis(
                "driver-library",
                Severity.ERROR,
                f"{one.name} cannot be opened, though the kernel runs driver {machine.kernel_driver}",
                "a part of the driver is missing: TensorFlow lists no GPU, possibly without a message",
                _install(evidence),
                (one.error, *one.elsewhere),
            )
    if (
        machine.kernel_driver
        and "/dev/nvidiactl" in machine.device_files
        and "/dev/nvidia-uvm" not in machine.device_files
        and not evidence.gpus
    ):
        yield Diagnosis(
            "driver-uvm",
            Severity.ERROR,
            "there is no /dev/nvidia-uvm",
            "CUDA needs the kernel module nvidia_uvm; without it cuInit fails with CUDA_ERROR_UNKNOWN",
            "sudo nvidia-modprobe -u -c 0",
        )


def _versions(evidence: Evidence) -> Iterator[Diagnosis]:
    versions = evidence.messages.versions
    if versions or _MISMATCH.search(evidence.no_cards):
        kernel = versions[0] if versions else evidence.machine.kernel_driver or "one version"
        library = versions[1] if versions else "of another version"
        yield Diagnosis(
            "driver-mismatch",
            Severity.ERROR,
            f"the kernel module is driver {kernel}, the libraries are {library}",
            "the driver was updated, but the old kernel module is still loaded (tensorflow#4349)",
            "sudo reboot",
            (evidence.no_cards,) if evidence.no_cards else (),
        )
    windows = evidence.machine.system == "Windows" or evidence.machine.wsl
    needed = cuda.minimum_driver(evidence.build.cuda_version, windows)
    has = evidence.driver_version
    if evidence.build.cuda and has and needed and cuda.numbers(has) < cuda.numbers(needed):
        yield Diagnosis(
            "driver-too-old",
            Severity.ERROR,
            f"the driver is {has}; CUDA {evidence.build.cuda_version}, for which TensorFlow was built, needs {needed}",
            "an older driver cannot run what a newer CUDA compiled",
            _install(evidence),
        )


def _refuses(evidence: Evidence) -> Iterator[Diagnosis]:
    refusal = evidence.messages.cuinit
    if not refusal or not evidence.gpu_expected:
        return
    fitting = ((why, fix) for pattern, why, fix in _REFUSALS if re.search(pattern, refusal))
    why, fix = next(
        fitting,
        (
            "it works, but has no device for this process; the command lists all cards",
            "nvidia-smi",
        ),
    )
    yield Diagnosis("driver-refuses", Severity.ERROR, f"the driver refuses: {refusal}", why, fix or _install(evidence))


def _ends(evidence: Evidence) -> Iterator[Diagnosis]:
    """Queries that the driver kept from finishing."""
    for what, asked in (
        ("listing GPUs", evidence.asked_tensorflow),
        ("NVML", evidence.asked_cards),
        ("opening libraries", evidence.asked_libraries),
    ):
        if what == "listing GPUs" and asked.step != "list":
            continue
        step = f" ({asked.step})" if asked.step and asked.step != "list" else ""
        if asked.ended == "timeout":
            yield Diagnosis(
                "driver-hangs",
                Severity.ERROR,
                f"{what}{step} did not return within {asked.seconds:.0f} s",
                "the driver hangs; its messages in the kernel's log begin with NVRM",
                "sudo dmesg | grep NVRM | tail",
            )
        elif asked.ended == "crashed":
            yield Diagnosis(
                "driver-crashes",
                Severity.ERROR,
                f"{what}{step} crashed with {asked.error}",
                "the driver, or a library that it loads, is broken",
                _install(evidence),
                tuple(asked.log.splitlines()[-3:]),
            )
        elif asked.ended == "failed":
            yield Diagnosis(
                "question-failed",
                Severity.ERROR if what == "listing GPUs" else Severity.WARNING,
                f"{what}{step} failed: {asked.error.splitlines()[0]}",
                "without this answer a cause may stay hidden",
                evidence=tuple(asked.traceback.splitlines()[-3:]),
            )
