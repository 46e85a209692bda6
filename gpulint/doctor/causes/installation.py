"""The installed TensorFlow: missing, shadowed, installed twice, or without CUDA."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from gpulint.doctor.diagnosis import Diagnosis, pip_install, with_cuda
from gpulint.doctor.evidence import Evidence, below, release_of
from gpulint.linting.finding import Severity

_COMPANIONS = frozenset({"tensorflow-aarch64", "tensorflow-cpu-aws", "tensorflow-intel", "tensorflow-macos"})
"""Distributions that others install as part of themselves."""


def diagnose(evidence: Evidence) -> Iterator[Diagnosis]:
    interpreter = evidence.interpreter
    if not interpreter.package:
        yield Diagnosis(
            "no-tensorflow",
            Severity.ERROR,
            f"Python {interpreter.version} in {interpreter.executable} has no TensorFlow",
            "its GPUs cannot be examined; --python PATH examines another interpreter",
            pip_install(evidence, with_cuda(evidence)),
        )
        return
    yield from _shadowing(evidence)
    yield from _two(evidence)
    yield from _without_cuda(evidence)


def is_shadowed(evidence: Evidence) -> bool:
    """Whether Python finds a file or directory of the user's as `tensorflow`."""
    interpreter, path = evidence.interpreter, evidence.interpreter.package
    parent = os.path.realpath(os.path.dirname(path))
    installed = any(os.path.realpath(one.location) == parent for one in interpreter.tensorflows)
    mine = below(path, evidence.machine.directory) and not installed and "site-packages" not in path
    return bool(path) and (mine or interpreter.kind == "module")


def _shadowing(evidence: Evidence) -> Iterator[Diagnosis]:
    """Something else that is named tensorflow."""
    interpreter, path = evidence.interpreter, evidence.interpreter.package
    if is_shadowed(evidence):
        parent, name = os.path.split(path)
        yield Diagnosis(
            "tensorflow-shadowed",
            Severity.ERROR,
            f"`import tensorflow` finds {path}, which is not TensorFlow",
            "a file or directory of this name precedes the installed package on Python's path",
            shlex.join(["mv", path, os.path.join(parent, f"my_{name}")]),
        )
    elif interpreter.kind == "namespace":
        yield Diagnosis(
            "tensorflow-leftover",
            Severity.ERROR,
            f"{path} is a directory without `__init__.py`",
            "it is left over from a TensorFlow that was removed or only partly installed",
            pip_install(evidence, with_cuda(evidence), force=True),
        )


def _two(evidence: Evidence) -> Iterator[Diagnosis]:
    found = [one for one in evidence.interpreter.tensorflows if one.name not in _COMPANIONS]
    if len(found) < 2:
        return
    names = [one.name for one in found]
    yield Diagnosis(
        "two-tensorflows",
        Severity.ERROR if evidence.gpu_expected else Severity.WARNING,
        " and ".join(f"{one.name} {one.version}" for one in found) + " are installed over each other",
        "both write the package `tensorflow`: what runs is a mixture, and removing one breaks the other",
        shlex.join([evidence.python, "-m", "pip", "uninstall", "--yes", *names])
        + " && "
        + pip_install(evidence, with_cuda(evidence)),
    )


def _without_cuda(evidence: Evidence) -> Iterator[Diagnosis]:
    build, machine = evidence.build, evidence.machine
    names = {one.name for one in evidence.interpreter.tensorflows}
    version = evidence.version or "of unknown version"
    if build.cuda or build.rocm or evidence.gpus or not names:
        return
    if machine.system == "Darwin":
        yield from _macos(evidence)
    elif not evidence.gpu_expected:
        return  # no GPU to lose
    elif machine.system == "Windows" and release_of(evidence.version) >= (2, 11):
        yield Diagnosis(
            "windows-wheel",
            Severity.ERROR,
            f"TensorFlow {version} runs on native Windows",
            "since 2.11 TensorFlow does not support GPUs on native Windows (tensorflow#58729), only under WSL 2",
            "wsl --install",
        )
    elif machine.system == "Linux" and machine.architecture == "aarch64":
        yield Diagnosis(
            "cpu-wheel",
            Severity.ERROR,
            f"TensorFlow {version} for aarch64 was built without CUDA",
            "the wheels on PyPI for this processor have no CUDA; NVIDIA's container has",
            "docker run --gpus all -it nvcr.io/nvidia/tensorflow:25.02-tf2-py3",
        )
    elif machine.system == "Linux":
        cpu = sorted(name for name in names if "cpu" in name)
        removal = f"{shlex.join([evidence.python, '-m', 'pip', 'uninstall', '--yes', *cpu])} && " if cpu else ""
        yield Diagnosis(
            "cpu-wheel",
            Severity.ERROR,
            f"{' and '.join(sorted(names))} {version} was built without CUDA",
            "it runs everything on the CPU, even if the machine has GPUs",
            removal + pip_install(evidence, with_cuda(evidence)),
        )


def _macos(evidence: Evidence) -> Iterator[Diagnosis]:
    if evidence.machine.architecture == "arm64" and not evidence.interpreter.installed("tensorflow-metal"):
        yield Diagnosis(
            "macos",
            Severity.WARNING,
            "TensorFlow for macOS has no GPU support of its own",
            "Apple's plug-in adds the GPU of Apple silicon",
            pip_install(evidence, "tensorflow-metal"),
        )
    elif evidence.machine.architecture != "arm64":
        yield Diagnosis(
            "macos",
            Severity.INFO,
            "TensorFlow for macOS was built without CUDA",
            "it runs on the CPU; neither CUDA nor TensorFlow's wheels support macOS any longer",
        )
