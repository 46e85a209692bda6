"""Shared libraries and packages of the tests, which the doctor's query processes find."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doctor.situations import FIXTURES

COMPILER = shutil.which("cc") or shutil.which("gcc")

needs_compiler = pytest.mark.skipif(
    COMPILER is None or not sys.platform.startswith("linux"), reason="makes shared libraries of Linux with a C compiler"
)


def library(path: Path, source: str = "int nothing(void) { return 0; }", *options: str) -> Path:
    """Compiles a shared library whose soname is its file's name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    assert COMPILER is not None
    subprocess.run(
        [COMPILER, "-shared", "-fPIC", "-xc", "-", "-xnone", f"-Wl,-soname,{path.name}", "-o", str(path), *options],
        input=source,
        text=True,
        check=True,
    )
    return path


def driver(directory: Path) -> Path:
    """The stand-in for the driver: its libcuda.so.1 and libnvidia-ml.so.1."""
    library(directory / "libcuda.so.1", (FIXTURES / "driver.c").read_text(encoding="utf-8"))
    library(directory / "libnvidia-ml.so.1", (FIXTURES / "management.c").read_text(encoding="utf-8"))
    return directory


def tensorflow(site: Path, source: str) -> Path:
    """A package `tensorflow` with this source in a directory for PYTHONPATH."""
    package = site / "tensorflow"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(source, encoding="utf-8")
    return site


def distribution(site: Path, name: str, version: str, *requires: str) -> None:
    """The metadata of an installed distribution."""
    directory = site / f"{name.replace('-', '_')}-{version}.dist-info"
    directory.mkdir(parents=True)
    rows = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {one}" for one in requires),
    ]
    (directory / "METADATA").write_text("\n".join(rows) + "\n", encoding="utf-8")


def environment(*sites: Path, **variables: str) -> dict[str, str]:
    """The tests' environment, with directories first on Python's path."""
    names = ("CUDA_", "NVIDIA_", "TF_", "XLA_", "LD_LIBRARY_PATH", "KERAS_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    path = [*map(str, sites), *kept.get("PYTHONPATH", "").split(os.pathsep)]
    return {**kept, "PYTHONPATH": os.pathsep.join(part for part in path if part), **variables}
