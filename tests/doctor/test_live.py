"""The doctor and real TensorFlows: the one of this interpreter, and one with CUDA on a stand-in for the driver.

The latter is the interpreter in GPULINT_TEST_CUDA_PYTHON, or this one where its TensorFlow was built with CUDA.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from pathlib import Path
from typing import Any

import pytest

from gpulint.doctor import cuda
from gpulint.doctor.causes import diagnose
from gpulint.doctor.diagnosis import Diagnosis
from gpulint.doctor.evidence import Evidence
from gpulint.doctor.gather import gather
from gpulint.doctor.queries import runtime
from tests.doctor.standin import driver, environment, library, needs_compiler

pytestmark = pytest.mark.tensorflow

VERSION = "12.5.1", "9"


def found(evidence: Evidence) -> dict[str, Diagnosis]:
    return {one.id: one for one in diagnose(evidence)}


class TestWithoutCuda:
    """A wheel without CUDA, as installed by `pip install tensorflow-cpu`."""

    @pytest.fixture(autouse=True)
    def _cpu(self) -> None:
        try:
            importlib.metadata.version("tensorflow-cpu")
        except importlib.metadata.PackageNotFoundError:
            pytest.skip("this interpreter has no tensorflow-cpu")

    def test_on_a_machine_without_a_gpu_nothing_is_in_the_way(self, tmp_path: Path) -> None:
        evidence = gather(sys.executable, timeout=120, compute=True, environment=environment(), root=tmp_path)
        assert evidence.asked_tensorflow.ended == "answered" and evidence.listed and not evidence.build.cuda
        assert evidence.version == importlib.metadata.version("tensorflow-cpu")
        assert set(found(evidence)) == {"no-gpu"}

    def test_on_a_machine_with_one_the_wheel_is_the_wrong_one(self, tmp_path: Path) -> None:
        device = tmp_path / "sys/bus/pci/devices/0000:01:00.0"
        device.mkdir(parents=True)
        (device / "vendor").write_text("0x10de\n")
        (device / "class").write_text("0x030000\n")
        evidence = gather(sys.executable, timeout=120, compute=True, environment=environment(), root=tmp_path)
        assert "cpu-wheel" in found(evidence)
        assert "tensorflow-cpu" in found(evidence)["cpu-wheel"].fix

    @pytest.mark.parametrize("variable", ["TF_XLA_FLAGS"])
    def test_a_flag_that_ends_tensorflow(self, tmp_path: Path, variable: str) -> None:
        environ = environment(**{variable: "--no_such_flag"})
        evidence = gather(sys.executable, timeout=120, compute=True, environment=environ, root=tmp_path)
        assert evidence.asked_tensorflow.ended == "crashed"
        assert found(evidence)["unknown-xla-flag"].fix == f"unset {variable}"

    def test_an_implementation_of_protobuf_that_does_not_exist(self, tmp_path: Path) -> None:
        environ = environment(PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="cpp")
        evidence = gather(sys.executable, timeout=120, compute=True, environment=environ, root=tmp_path)
        if evidence.asked_tensorflow.ended == "answered":
            pytest.skip("this protobuf falls back")
        assert found(evidence)["protobuf"].fix == "unset PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"


def test_the_first_operations() -> None:
    """What runs on each GPU runs on the CPU as well."""
    import tensorflow as tf

    said: list[tuple[str, Any]] = []
    runtime._compute(tf, "/device:CPU:0", lambda name, value: said.append((name, value)))
    assert [name for name, _ in said] == ["begin", "begin", "computed"]
    assert said[-1][1]["device"] == "/device:CPU:0"


@needs_compiler
class TestWithCuda:
    """A real TensorFlow with CUDA asks a libcuda.so.1 that knows cards and computes nothing."""

    @pytest.fixture
    def python(self) -> str:
        named = os.environ.get("GPULINT_TEST_CUDA_PYTHON")
        if platform.machine() != "x86_64":
            pytest.skip("made for x86_64")
        if named:
            return named
        import tensorflow as tf

        if not tf.test.is_built_with_cuda():
            pytest.skip("set GPULINT_TEST_CUDA_PYTHON to an interpreter whose TensorFlow has CUDA")
        return sys.executable

    def gathered(
        self, python: str, tmp_path: Path, *, libraries: bool = False, timeout: float = 120, **variables: str
    ) -> Evidence:
        places = [str(driver(tmp_path / "driver"))]
        if libraries:
            names = cuda.libraries(*VERSION)
            places += [str(library(tmp_path / "cuda" / name).parent) for name in names[:1]]
            for name in names[1:]:
                library(tmp_path / "cuda" / name)
        environ = environment(LD_LIBRARY_PATH=":".join(places), **variables)
        return gather(python, timeout=timeout, compute=False, environment=environ, root=tmp_path)

    def test_no_library_of_cuda(self, python: str, tmp_path: Path) -> None:
        evidence = self.gathered(python, tmp_path)
        assert evidence.gpu_expected == "TensorFlow found 1 card" and not evidence.gpus
        assert set(cuda.libraries(*VERSION)) <= set(evidence.messages.not_loaded)
        assert {"library-missing", "library-other-version"} & set(found(evidence))

    def test_all_libraries_of_cuda(self, python: str, tmp_path: Path) -> None:
        evidence = self.gathered(python, tmp_path, libraries=True, STANDIN_CARDS="2")
        assert [(one.card, one.bus, one.capability) for one in evidence.gpus] == [
            ("Stand-in card", "0000:86:00.0", (8, 0)),
            ("Stand-in card", "0000:87:00.0", (8, 0)),
        ]
        assert found(evidence) == {}

    def test_a_card_that_is_left_out(self, python: str, tmp_path: Path) -> None:
        evidence = self.gathered(python, tmp_path, libraries=True, STANDIN_CARDS="2", STANDIN_CORES="5")
        assert found(evidence)["gpu-ignored"].fix == "export TF_MIN_GPU_MULTIPROCESSOR_COUNT=5"
        mended = self.gathered(
            python, tmp_path, libraries=True, STANDIN_CARDS="2", STANDIN_CORES="5", TF_MIN_GPU_MULTIPROCESSOR_COUNT="5"
        )
        assert len(mended.gpus) == 2 and found(mended) == {}

    def test_a_card_for_which_there_are_no_kernels(self, python: str, tmp_path: Path) -> None:
        evidence = self.gathered(python, tmp_path, libraries=True, STANDIN_CARDS="2", STANDIN_MAJOR="12")
        assert set(found(evidence)) == {"capability-compiled"}

    def test_a_driver_that_refuses(self, python: str, tmp_path: Path) -> None:
        evidence = self.gathered(python, tmp_path, STANDIN_INIT="802", CUDA_VISIBLE_DEVICES="0")
        assert "CUDA_ERROR_SYSTEM_NOT_READY" in evidence.messages.cuinit

    @pytest.mark.parametrize(
        ("how", "seconds", "expected"), [("hang", 30, "driver-hangs"), ("crash", 120, "driver-crashes")]
    )
    def test_a_driver_that_hangs_or_crashes(
        self, python: str, tmp_path: Path, how: str, seconds: float, expected: str
    ) -> None:
        evidence = self.gathered(python, tmp_path, timeout=seconds, STANDIN_INIT=how)
        assert expected in found(evidence)

    def test_no_driver(self, python: str, tmp_path: Path) -> None:
        evidence = gather(python, timeout=120, compute=True, environment=environment(), root=tmp_path)
        assert evidence.messages.cuinit and evidence.build.cuda
        assert set(found(evidence)) == {"no-gpu"}
