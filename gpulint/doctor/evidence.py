"""Evidence about a machine and its TensorFlow: values only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpulint.doctor.answer import Answer
from gpulint.doctor.cuda import numbers
from gpulint.doctor.machine import Machine
from gpulint.doctor.messages import Messages
from gpulint.probe.measures.cards import Row

DISTRIBUTIONS = frozenset(
    {
        "intel-tensorflow",
        "tensorflow",
        "tensorflow-aarch64",
        "tensorflow-cpu",
        "tensorflow-cpu-aws",
        "tensorflow-gpu",
        "tensorflow-intel",
        "tensorflow-macos",
        "tensorflow-rocm",
        "tf-nightly",
        "tf-nightly-cpu",
        "tf-nightly-gpu",
    }
)
"""Distributions that install the package `tensorflow`."""


@dataclass(frozen=True, slots=True)
class Distribution:
    name: str
    version: str
    location: str


@dataclass(frozen=True, slots=True)
class Build:
    """The build of a TensorFlow. `capabilities` are named as in its build info, `sm_80` or `compute_90`."""

    cuda: bool = False
    rocm: bool = False
    cuda_version: str = ""
    cudnn_version: str = ""
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The examined Python. `package` is where it finds `tensorflow`, "" for nowhere, and `kind` is package, module
    or namespace. `requires` are the requirements of the distribution tensorflow."""

    executable: str
    version: str = ""
    package: str = ""
    kind: str = ""
    distributions: tuple[Distribution, ...] = ()
    requires: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    """Directories with the libraries of NVIDIA's wheels."""

    def installed(self, name: str) -> Distribution | None:
        """A distribution by its normalised name."""
        return next((one for one in self.distributions if one.name == name), None)

    @property
    def tensorflows(self) -> tuple[Distribution, ...]:
        """The distributions that install `tensorflow`."""
        return tuple(one for one in self.distributions if one.name in DISTRIBUTIONS)


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU that TensorFlow lists. Unknown fields are "" or None."""

    name: str
    card: str = ""
    bus: str = ""
    capability: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Library:
    """A shared library that TensorFlow opens. `path` is "" if that fails, with the loader's `error`. `looked` lists
    directories searched before the system's, `present` those of them that exist, `elsewhere` files of that name,
    `others` files of other versions."""

    name: str
    path: str = ""
    error: str = ""
    version: int = 0
    looked: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """A card in NVML's order, which is nvidia-smi's."""

    index: int
    name: str = ""
    uuid: str = ""
    bus: str = ""
    capability: tuple[int, int] | None = None
    mig: bool = False
    instances: tuple[str, ...] = ()
    exclusive: bool = False
    prohibited: bool = False
    processes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """The input of the diagnoses. `asked_tensorflow`, `asked_libraries` and `asked_cards` say how the queries ended;
    their results are the other fields. `cuda_driver` is the newest CUDA that the driver runs."""

    machine: Machine
    interpreter: Interpreter
    asked_tensorflow: Answer
    asked_libraries: Answer
    asked_cards: Answer
    messages: Messages
    version: str = ""
    build: Build = field(default_factory=Build)
    gpus: tuple[Gpu, ...] = ()
    computed: Mapping[str, float] = field(default_factory=dict)
    """TensorFlow's devices that computed something, with seconds."""
    libraries: tuple[Library, ...] = ()
    cards: tuple[Card, ...] = ()
    memory: tuple[Row, ...] = ()
    driver: str = ""
    cuda_driver: str = ""
    no_cards: str = ""
    """Why NVML lists no card."""

    @property
    def listed(self) -> bool:
        """Whether TensorFlow was imported and listed its GPUs."""
        return "gpus" in self.asked_tensorflow.values

    @property
    def works(self) -> bool:
        """Whether TensorFlow computed on every GPU that it lists."""
        return bool(self.gpus) and len(self.computed) == len(self.gpus)

    @property
    def driver_version(self) -> str:
        """Version of NVIDIA's driver according to the kernel or NVML, "" without one."""
        return self.machine.kernel_driver or self.driver

    @property
    def gpu_expected(self) -> str:
        """Why an NVIDIA GPU is expected here, "" if nothing suggests it."""
        if self.cards:
            return f"the driver shows {_count(len(self.cards), 'card')}"
        if self.messages.found:
            return f"TensorFlow found {_count(len(self.messages.found), 'card')}"
        if self.machine.bus_cards:
            return f"the PCI bus has {_count(len(self.machine.bus_cards), 'NVIDIA GPU')}"
        if any("nvidia" in path for path in self.machine.device_files):
            return "NVIDIA's device files exist"
        if self.machine.kernel_driver:
            return f"NVIDIA's kernel driver {self.machine.kernel_driver} is loaded"
        if (asked := self.machine.variable("NVIDIA_VISIBLE_DEVICES")) not in (None, "", "void", "none"):
            return f"NVIDIA_VISIBLE_DEVICES is {asked}"
        if (asked := self.machine.variable("CUDA_VISIBLE_DEVICES")) and not asked.startswith("-"):
            return f"CUDA_VISIBLE_DEVICES is {asked}"
        for one in self.interpreter.distributions:
            if one.name == "tensorflow-gpu" or one.name.startswith(("nvidia-cuda-runtime", "nvidia-cudnn")):
                return f"{one.name} {one.version} is installed"
        return ""

    @property
    def has_hardware(self) -> bool:
        """Whether the bus, the driver or its files show an NVIDIA card."""
        machine = self.machine
        return bool(self.cards or machine.bus_cards or machine.kernel_driver or self._numbered or self.messages.found)

    @property
    def _numbered(self) -> bool:
        return any(path.removeprefix("/dev/nvidia").isdigit() for path in self.machine.device_files)

    @property
    def python(self) -> str:
        """The interpreter as written in a command."""
        return self.interpreter.executable


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def build_of(info: Mapping[str, Any]) -> Build:
    """The build from TensorFlow's build info. Windows writes versions as `64_112`."""
    return Build(
        cuda=bool(info.get("is_cuda_build")),
        rocm=bool(info.get("is_rocm_build")),
        cuda_version=_plain(str(info.get("cuda_version", ""))),
        cudnn_version=_plain(str(info.get("cudnn_version", ""))),
        capabilities=tuple(str(one) for one in info.get("cuda_compute_capabilities", ())),
    )


def _plain(version: str) -> str:
    if not version.startswith("64_"):
        return version
    digits = version[3:]
    return f"{digits[:-1]}.{digits[-1]}" if len(digits) == 3 else digits


def release_of(version: str) -> tuple[int, ...]:
    """(2, 21) of TensorFlow "2.21.0", empty if unknown."""
    return numbers(version)[:2]


def below(path: str, directory: str) -> bool:
    """Whether a path is in a directory."""
    if not path or not directory:
        return False
    try:
        return os.path.commonpath([os.path.realpath(path), os.path.realpath(directory)]) == os.path.realpath(directory)
    except ValueError:  # on different drives
        return False
