"""Causes, each on an otherwise healthy machine: containers."""

from __future__ import annotations

import pytest

from gpulint.doctor.evidence import Library
from tests.doctor.situations import (
    MACHINE,
    NO_GPUS,
    NO_HARDWARE,
    ids,
    on,
    only,
    said,
)


@pytest.mark.parametrize(
    ("kind", "fix"),
    [("Docker", "--gpus all"), ("Podman", "nvidia.com/gpu=all"), ("Kubernetes", "nvidia.com/gpu=1")],
)
def test_started_without_gpus(kind: str, fix: str) -> None:
    evidence = on(
        machine={"container": kind, "device_files": {}},
        cards=(),
        memory=(),
        no_cards="NVMLError_LibraryNotFound",
        messages=said("issue-docker.log"),
        libraries=(Library("libcuda.so.1", error="libcuda.so.1: cannot open"),),
        **NO_GPUS,
    )
    one = only(evidence)
    assert one.id == "container-without-gpu" and fix in one.fix


def test_an_image_for_gpus_on_a_machine_that_shows_none() -> None:
    one = only(on(NO_HARDWARE, machine={"container": "Docker", "environment": {"NVIDIA_VISIBLE_DEVICES": "all"}}))
    assert one.id == "container-without-gpu" and one.evidence == ("NVIDIA_VISIBLE_DEVICES=all",)


def test_a_container_that_needs_no_gpus() -> None:
    assert ids(on(NO_HARDWARE, machine={"container": "Docker"})) == ["no-gpu"]


def test_without_the_part_of_the_driver_that_computes() -> None:
    evidence = on(
        machine={"container": "Docker", "environment": {"NVIDIA_DRIVER_CAPABILITIES": "utility,graphics"}},
        libraries=(Library("libcuda.so.1", error="libcuda.so.1: cannot open"), Library("libnvidia-ml.so.1", "/x")),
        messages=said("2.21-no-driver.log"),
        **NO_GPUS,
    )
    one = only(evidence)
    assert one.id == "container-capabilities" and "compute" in one.why and "capabilities=compute,utility" in one.fix


def test_device_files_of_somebody_else() -> None:
    one = only(on(machine={"device_files": {**MACHINE.device_files, "/dev/nvidia1": False}}))
    assert one.id == "device-files-denied" and one.seen.startswith("/dev/nvidia1 ")
