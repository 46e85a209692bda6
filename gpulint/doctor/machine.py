"""NVIDIA's cards and driver on this machine, read from files and environment variables, without calling the driver."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_NVIDIA = "0x10de"
_DISPLAY = "0x03"
"""PCI class of GPUs: VGA and 3D controllers."""

VARIABLES = (
    "CUDA_DEVICE_ORDER",
    "CUDA_VISIBLE_DEVICES",
    "CONDA_PREFIX",
    "JAX_PLATFORMS",
    "KERAS_BACKEND",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_VISIBLE_DEVICES",
    "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION",
    "PYTHONPATH",
    "TF_CPP_MIN_LOG_LEVEL",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
    "TF_MIN_GPU_MULTIPROCESSOR_COUNT",
    "TF_USE_LEGACY_KERAS",
    "TF_XLA_FLAGS",
    "XLA_FLAGS",
)
"""Environment variables that affect where TensorFlow runs, or whether it can be imported."""

_FIRST = {"pid": 0xEFFFFFFC, "ipc": 0xEFFFFFFF, "uts": 0xEFFFFFFE}
"""Inode numbers of the namespaces that the kernel creates when it boots (`include/linux/proc_ns.h`)."""

_VERSION = re.compile(r"^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class BusCard:
    """An NVIDIA GPU on the PCI bus, and its kernel driver ("" for none)."""

    bus: str
    driver: str


@dataclass(frozen=True, slots=True)
class Machine:
    """`system` as in platform.system(). `kernel_driver` is the version of NVIDIA's kernel module, "" if not loaded.
    `device_files` maps the files that CUDA opens to whether we may open them. `container` is its kind, "" outside."""

    system: str
    architecture: str
    wsl: bool = False
    distribution: str = ""
    bus_cards: tuple[BusCard, ...] = ()
    kernel_driver: str = ""
    device_files: Mapping[str, bool] = field(default_factory=dict)
    container: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""

    def variable(self, name: str) -> str | None:
        """An environment variable, None if not set."""
        return self.environment.get(name)


def examine(environment: Mapping[str, str], root: Path = Path("/")) -> Machine:
    """This machine; `root` is the root of its file system."""
    return Machine(
        system=platform.system(),
        architecture=platform.machine(),
        wsl="microsoft" in _read(root / "proc/sys/kernel/osrelease").lower(),
        distribution=_distribution(root),
        bus_cards=_bus_cards(root),
        kernel_driver=_kernel_driver(root),
        device_files={f"/dev/{path.name}": os.access(path, os.R_OK | os.W_OK) for path in _device_files(root)},
        container=_container(root, environment),
        environment={name: environment[name] for name in VARIABLES if name in environment},
        directory=_directory(),
    )


def _bus_cards(root: Path) -> tuple[BusCard, ...]:
    found = []
    for path in _listed(root / "sys/bus/pci/devices"):
        if _read(path / "vendor").strip() == _NVIDIA and _read(path / "class").startswith(_DISPLAY):
            found.append(BusCard(path.name, os.path.basename(_link(path / "driver"))))
    return tuple(found)


def _kernel_driver(root: Path) -> str:
    found = _VERSION.search(_read(root / "proc/driver/nvidia/version"))
    return found[1] if found else ""


def _device_files(root: Path) -> list[Path]:
    names = re.compile(r"nvidia(\d+|ctl|-uvm)|dxg")
    return [path for path in _listed(root / "dev") if names.fullmatch(path.name)]


def _container(root: Path, environment: Mapping[str, str]) -> str:
    if "KUBERNETES_SERVICE_HOST" in environment:
        return "Kubernetes"
    if "APPTAINER_CONTAINER" in environment or "SINGULARITY_CONTAINER" in environment:
        return "Apptainer"
    if not _has_first_namespaces(root):
        if (root / "run/.containerenv").exists():
            return "Podman"
        if (root / ".dockerenv").exists():
            return "Docker"
    groups = _read(root / "proc/1/cgroup")
    for mark, kind in (("kubepods", "Kubernetes"), ("docker", "Docker"), ("containerd", "containerd"), ("lxc", "LXC")):
        if mark in groups:
            return kind
    return ""


def _has_first_namespaces(root: Path) -> bool:
    """Whether this process has the namespaces that the kernel booted with, which no container has: a virtual machine
    that was built from a container's image also has the image's `.dockerenv`."""
    return all(_link(root / f"proc/self/ns/{kind}") == f"{kind}:[{number}]" for kind, number in _FIRST.items())


def _distribution(root: Path) -> str:
    found = re.search(r'^ID="?([\w.-]+)', _read(root / "etc/os-release"), re.MULTILINE)
    return found[1] if found else ""


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # it was removed


def _listed(path: Path) -> list[Path]:
    try:
        return sorted(path.iterdir())
    except OSError:
        return []


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
