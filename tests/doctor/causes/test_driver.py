"""Causes, each on an otherwise healthy machine: the driver."""

from __future__ import annotations

import pytest

from gpulint.doctor.answer import Answer
from gpulint.doctor.evidence import Library
from gpulint.doctor.machine import BusCard
from gpulint.linting.finding import Severity
from tests.doctor.situations import (
    HEALTHY,
    MACHINE,
    NO_GPUS,
    on,
    only,
    said,
)


@pytest.mark.parametrize(
    ("holder", "words", "fix"),
    [
        ("", "without a driver", "ubuntu-drivers"),
        ("nouveau", "nouveau", "ubuntu-drivers"),
        ("vfio-pci", "vfio", "driverctl"),
    ],
)
def test_no_driver(holder: str, words: str, fix: str) -> None:
    one = only(
        on(
            machine={"bus_cards": (BusCard("0000:01:00.0", holder),), "kernel_driver": "", "device_files": {}},
            libraries=(Library("libcuda.so.1", error="libcuda.so.1: cannot open"),),
            cards=(),
            memory=(),
            driver="",
            messages=said("2.21-no-driver.log"),
            **NO_GPUS,
        )
    )
    assert one.id == "driver-missing" and words in one.seen and fix in one.fix


def test_a_driver_that_is_too_old_for_the_cuda_of_the_wheel() -> None:
    one = only(on(machine={"kernel_driver": "470.82.01"}, cuda_driver="11.4", **NO_GPUS))
    assert one.id == "driver-too-old" and "525.60.13" in one.seen


def test_a_driver_was_updated_and_not_loaded() -> None:
    one = only(on(messages=said("issue-versions.log"), cards=(), memory=(), **NO_GPUS))
    assert one.id == "driver-mismatch" and one.fix == "sudo reboot"
    assert "460.91.3" in one.seen and "470.57.2" in one.seen


def test_a_driver_mismatch_is_reported_by_nvml_too() -> None:
    reason = "NVMLError_LibRmVersionMismatch: RM has detected an NVML/RM version mismatch."
    one = only(on(no_cards=reason, cards=(), memory=(), **NO_GPUS))
    assert one.id == "driver-mismatch" and one.evidence == (reason,)


@pytest.mark.parametrize("name", ["libcuda.so.1", "libnvidia-ml.so.1"])
def test_a_part_of_the_driver_is_missing(name: str) -> None:
    libraries = (
        *(one for one in HEALTHY.libraries if one.name != name),
        Library(name, error=f"{name}: cannot open"),
    )
    one = only(on(libraries=libraries, messages=said("2.21-no-driver.log"), **NO_GPUS))
    assert one.id == "driver-library" and name in one.seen


def test_the_stub_for_linking() -> None:
    stub = Library("libcuda.so.1", "/usr/local/cuda/lib64/stubs/libcuda.so.1")
    environment = {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64/stubs:/usr/local/cuda/lib64"}
    one = only(on(environment=environment, libraries=(stub,), messages=said("issue-docker.log"), **NO_GPUS))
    assert one.id == "driver-stub" and one.fix == "export LD_LIBRARY_PATH=/usr/local/cuda/lib64"


def test_no_unified_memory() -> None:
    files = {name: True for name in MACHINE.device_files if "uvm" not in name}
    one = only(on(machine={"device_files": files}, messages=said("issue-docker.log"), **NO_GPUS))
    assert one.id == "driver-uvm" and "nvidia-modprobe" in one.fix


@pytest.mark.parametrize(
    ("name", "words", "fix"),
    [
        ("2.21-not-ready.log", "SYSTEM_NOT_READY", "fabricmanager"),
        ("issue-docker.log", "UNKNOWN ERROR (-1)", "nvidia_uvm"),
        ("2.21-no-device.log", "CUDA_ERROR_NO_DEVICE", "nvidia-smi"),
    ],
)
def test_the_driver_refuses(name: str, words: str, fix: str) -> None:
    one = only(on(messages=said(name), **NO_GPUS))
    assert one.id == "driver-refuses" and words in one.seen and fix in one.fix


def test_the_driver_hangs_under_tensorflow() -> None:
    one = only(on(asked_tensorflow=Answer("timeout", "list", seconds=60.0), **NO_GPUS))
    assert one.id == "driver-hangs" and "60 s" in one.seen


def test_the_driver_hangs_under_nvml() -> None:
    one = only(on(asked_cards=Answer("timeout", "nvmlInit", seconds=60.0)))
    assert one.id == "driver-hangs" and "NVML (nvmlInit)" in one.seen


def test_the_driver_crashes() -> None:
    one = only(on(asked_tensorflow=Answer("crashed", "list", "SIGSEGV"), **NO_GPUS))
    assert one.id == "driver-crashes" and "SIGSEGV" in one.seen


def test_a_library_crashes_when_it_is_opened() -> None:
    one = only(on(asked_libraries=Answer("crashed", "libcudnn.so.9", "SIGSEGV")))
    assert one.id == "driver-crashes" and "libcudnn.so.9" in one.seen


def test_listing_fails() -> None:
    one = only(on(asked_tensorflow=Answer("failed", "list", "RuntimeError: no"), **NO_GPUS))
    assert one.id == "question-failed" and one.severity is Severity.ERROR
