"""A machine is read from its files, here from a directory of the tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpulint.doctor.machine import BusCard, Machine, examine

VERSION = """NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024
GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)
"""
OPEN_VERSION = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build  (dvs-builder)  Fri\n"


def write(root: Path, name: str, text: str = "") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def card(root: Path, bus: str, *, vendor: str = "0x10de", kind: str = "0x030200", driver: str = "") -> None:
    write(root, f"sys/bus/pci/devices/{bus}/vendor", f"{vendor}\n")
    write(root, f"sys/bus/pci/devices/{bus}/class", f"{kind}\n")
    if driver:
        os.symlink(f"../../../bus/pci/drivers/{driver}", root / f"sys/bus/pci/devices/{bus}/driver")


def examined(root: Path, **environment: str) -> Machine:
    return examine(environment, root)


def test_nothing_of_nvidia(tmp_path: Path) -> None:
    card(tmp_path, "0000:00:02.0", vendor="0x8086")
    found = examined(tmp_path)
    assert (found.bus_cards, found.kernel_driver, dict(found.device_files), found.container) == ((), "", {}, "")


def test_gpus_are_distinguished_from_other_devices_of_nvidia(tmp_path: Path) -> None:
    card(tmp_path, "0000:01:00.0", kind="0x030000", driver="nouveau")
    card(tmp_path, "0000:01:00.1", kind="0x040300")
    card(tmp_path, "0000:86:00.0")
    assert examined(tmp_path).bus_cards == (BusCard("0000:01:00.0", "nouveau"), BusCard("0000:86:00.0", ""))


@pytest.mark.parametrize(("text", "version"), [(VERSION, "550.54.15"), (OPEN_VERSION, "560.35.03"), ("nonsense", "")])
def test_the_version_of_the_kernel_driver(tmp_path: Path, text: str, version: str) -> None:
    write(tmp_path, "proc/driver/nvidia/version", text)
    assert examined(tmp_path).kernel_driver == version


def test_device_files_and_whether_we_may_use_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-caps", "null"):
        write(tmp_path, f"dev/{name}")
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("nvidia0"))
    files = dict(examined(tmp_path).device_files)
    assert files == {"/dev/nvidia-uvm": True, "/dev/nvidia0": False, "/dev/nvidiactl": True}


@pytest.mark.parametrize(
    ("name", "text", "environment", "kind"),
    [
        (".dockerenv", "", {}, "Docker"),
        ("run/.containerenv", "", {}, "Podman"),
        ("proc/1/cgroup", "0::/kubepods/besteffort/pod1\n", {}, "Kubernetes"),
        ("proc/1/cgroup", "12:cpu:/docker/0123\n", {}, "Docker"),
        ("proc/1/cgroup", "0::/init.scope\n", {}, ""),
        (".dockerenv", "", {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "Kubernetes"),
        ("x", "", {"APPTAINER_CONTAINER": "/image.sif"}, "Apptainer"),
    ],
)
def test_containers(tmp_path: Path, name: str, text: str, environment: dict[str, str], kind: str) -> None:
    write(tmp_path, name, text)
    assert examined(tmp_path, **environment).container == kind


@pytest.mark.parametrize(
    ("namespaces", "kind"),
    [
        ({"pid": 4026531836, "ipc": 4026531839, "uts": 4026531838}, ""),
        ({"pid": 4026532201, "ipc": 4026532199, "uts": 4026532198}, "Docker"),
        ({"pid": 4026531836, "ipc": 4026532199, "uts": 4026532198}, "Docker"),
    ],
)
def test_a_virtual_machine_built_from_an_image_is_no_container(
    tmp_path: Path, namespaces: dict[str, int], kind: str
) -> None:
    write(tmp_path, ".dockerenv")
    (tmp_path / "proc/self/ns").mkdir(parents=True)
    for name, number in namespaces.items():
        os.symlink(f"{name}:[{number}]", tmp_path / "proc/self/ns" / name)
    assert examined(tmp_path).container == kind


def test_wsl_and_the_distribution(tmp_path: Path) -> None:
    write(tmp_path, "proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n")
    write(tmp_path, "etc/os-release", 'NAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\nID_LIKE=debian\n')
    write(tmp_path, "dev/dxg")
    found = examined(tmp_path)
    assert found.wsl and found.distribution == "ubuntu" and "/dev/dxg" in found.device_files


def test_only_variables_that_matter_are_kept(tmp_path: Path) -> None:
    found = examined(tmp_path, CUDA_VISIBLE_DEVICES="", AWS_SECRET_ACCESS_KEY="x")
    assert found.environment == {"CUDA_VISIBLE_DEVICES": ""}
    assert found.variable("CUDA_VISIBLE_DEVICES") == "" and found.variable("XLA_FLAGS") is None
