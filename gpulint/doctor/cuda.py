"""CUDA releases: the drivers they need, and the names of their libraries.

Minimum drivers: "CUDA Compatibility", tables 1 and 2 (docs.nvidia.com/deploy/cuda-compatibility); since CUDA 11 every
release of a major version runs on the drivers of its first. Library names: messages of TensorFlow 2.4 (CUDA 11,
NVIDIA/tensorflow#110) and, with a driver and one card, of 2.21 (CUDA 12.5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_DRIVERS = {
    (13, 0): ("580", "580"),
    (12, 0): ("525.60.13", "528.33"),
    (11, 0): ("450.80.02", "452.39"),
    (10, 2): ("440.33", "441.22"),
    (10, 1): ("418.39", "418.96"),
    (10, 0): ("410.48", "411.31"),
    (9, 0): ("384.81", "385.54"),
}
"""CUDA release → the oldest driver that runs it, on Linux and on Windows."""

_LIBRARIES = {
    13: "cudart.so.13 cublas.so.13 cublasLt.so.13 cufft.so.12 cusolver.so.12 cusparse.so.12",
    12: "cudart.so.12 cublas.so.12 cublasLt.so.12 cufft.so.11 cusolver.so.11 cusparse.so.12",
    11: "cudart.so.11.0 cublas.so.11 cublasLt.so.11 cufft.so.10 curand.so.10 cusolver.so.11 cusparse.so.11",
}
"""Major version of CUDA → libraries that TensorFlow opens; if one is missing it registers no GPU."""

DRIVER_LIBRARIES = ("libcuda.so.1", "libnvidia-ml.so.1")
"""Libraries of the driver. Without the second, TensorFlow 2.21 silently lists no GPU."""

NCCL = "libnccl.so.2"
"""Needed for reductions across several GPUs."""

_WHEELS = {
    "libcudart": "cuda-runtime",
    "libcublas": "cublas",
    "libcublasLt": "cublas",
    "libcufft": "cufft",
    "libcurand": "curand",
    "libcusolver": "cusolver",
    "libcusparse": "cusparse",
    "libcudnn": "cudnn",
    "libnccl": "nccl",
}


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, (12, 5, 1) of "12.5.1"; empty if there are none."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def minimum_driver(cuda: str, windows: bool = False) -> str:
    """The oldest driver that runs a CUDA release, "" if unknown."""
    release = numbers(cuda)[:2]
    for since in sorted(_DRIVERS, reverse=True):
        if release >= since:
            return _DRIVERS[since][windows] if since[0] == release[0] else ""
    return ""


def libraries(cuda: str, cudnn: str) -> tuple[str, ...]:
    """The libraries that a TensorFlow built for these releases opens."""
    release = numbers(cuda)
    named = tuple(f"lib{name}" for name in _LIBRARIES.get(release[0], "").split()) if release else ()
    major = numbers(cudnn)
    return (*named, f"libcudnn.so.{major[0]}") if named and major else named


def wheel(library: str, cuda: str) -> str:
    """NVIDIA's wheel with a library, "" if there is none."""
    part = _WHEELS.get(library.partition(".so")[0], "")
    release = numbers(cuda)
    return f"nvidia-{part}-cu{release[0]}" if part and release else ""


def cudnn_version(number: int) -> tuple[int, int, int]:
    """The result of cudnnGetVersion() as a version: 90300 is 9.3.0, 8907 was 8.9.7."""
    size = 10000 if number >= 90000 else 1000
    return number // size, number % size // 100, number % 100


def runs_natively(capability: tuple[int, int], built: Iterable[str]) -> bool:
    """Whether a wheel has kernels for a card: for the same major and at most its minor version.

    `compute_90` in TensorFlow's build info means kernels for 9.0 and PTX, `sm_90` means kernels only (configure.py).
    """
    return any(major == capability[0] and minor <= capability[1] for _, (major, minor) in _built(built))


def compiles_for(capability: tuple[int, int], built: Iterable[str]) -> bool:
    """Whether the driver can compile kernels for a card from the wheel's PTX, which runs on its own capability and
    above."""
    return any(kind == "compute" and version <= capability for kind, version in _built(built))


def _built(names: Iterable[str]) -> list[tuple[str, tuple[int, int]]]:
    found = []
    for name in names:
        if match := re.fullmatch(r"(sm|compute)_(\d+)(\d)[a-z]?", name):
            found.append((match[1], (int(match[2]), int(match[3]))))
    return found
