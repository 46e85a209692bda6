"""A container started without GPUs, or without part of the driver (tensorflow#41785, #45011)."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.doctor.cuda import DRIVER_LIBRARIES
from gpulint.doctor.diagnosis import Diagnosis
from gpulint.doctor.evidence import Evidence
from gpulint.linting.finding import Severity

_STARTS = {
    "Apptainer": "apptainer exec --nv IMAGE COMMAND",
    "Docker": "docker run --gpus all IMAGE",
    "Kubernetes": "kubectl set resources deployment NAME --limits=nvidia.com/gpu=1",
    "Podman": "podman run --device nvidia.com/gpu=all IMAGE",
    "containerd": "ctr run --gpus 0 IMAGE NAME",
    "LXC": "lxc config device add NAME gpu gpu",
}


def diagnose(evidence: Evidence) -> Iterator[Diagnosis]:
    machine = evidence.machine
    files = machine.device_files
    reached = evidence.cards or evidence.messages.found or {"/dev/nvidiactl", "/dev/dxg"} & set(files)
    if machine.container and evidence.gpu_expected and not reached:
        asked = machine.variable("NVIDIA_VISIBLE_DEVICES")
        yield Diagnosis(
            "container-without-gpu",
            Severity.ERROR,
            f"this {machine.container} container has no /dev/nvidia*, though {evidence.gpu_expected}",
            "it was started without GPUs, so processes inside cannot reach the driver",
            _STARTS[machine.container],
            (f"NVIDIA_VISIBLE_DEVICES={asked}",) if asked is not None else (),
        )
        return
    refused = sorted(path for path, allowed in files.items() if not allowed)
    if refused:
        yield Diagnosis(
            "device-files-denied",
            Severity.ERROR,
            f"{', '.join(refused)} cannot be read and written by this user",
            "CUDA must open these files to use a device",
            "sudo chmod a+rw /dev/nvidia*",
        )
    yield from _capabilities(evidence)


def _capabilities(evidence: Evidence) -> Iterator[Diagnosis]:
    """The parts of the driver that are mounted into the container."""
    given = evidence.machine.variable("NVIDIA_DRIVER_CAPABILITIES")
    if not given or not evidence.gpu_expected:
        return
    missing = {"compute", "utility"} - set(given.replace(" ", "").split(","))
    closed = {one.name for one in evidence.libraries if not one.path} & set(DRIVER_LIBRARIES)
    if "all" in given or not missing or not closed:
        return
    yield Diagnosis(
        "container-capabilities",
        Severity.ERROR,
        f"NVIDIA_DRIVER_CAPABILITIES is {given}; {' and '.join(sorted(closed))} cannot be opened",
        f"without {' and '.join(sorted(missing))} the container lacks the parts of the driver that TensorFlow needs",
        "docker run --gpus 'all,\"capabilities=compute,utility\"' IMAGE",
    )
