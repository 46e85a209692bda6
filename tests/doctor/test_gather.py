"""Evidence from real processes: packages that hang or crash replace a driver that does; libraries are real files."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpulint.doctor.causes import diagnose
from gpulint.doctor.child import ask
from gpulint.doctor.evidence import Evidence, Library
from gpulint.doctor.gather import NoInterpreter, gather
from tests.doctor.standin import distribution, driver, environment, library, needs_compiler, tensorflow

LISTING = """
import os, signal, sys, time
__version__ = "2.21.0"
class sysconfig:
    @staticmethod
    def get_build_info():
        return {"is_cuda_build": True, "cuda_version": "12.5.1", "cudnn_version": "9"}
class config:
    @staticmethod
    def list_physical_devices(kind):
        print("failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error", file=sys.stderr, flush=True)
        %s
"""
CUDNN = "libcudnn.so.9"

ENOUGH = 8.0
"""Seconds in which an interpreter starts and reaches the line where it hangs, even on a busy machine."""


def gathered(root: Path, environ: dict[str, str], *, timeout: float = 30.0) -> Evidence:
    """The evidence from the tests' interpreter, on a machine whose files are in `root`."""
    return gather(sys.executable, timeout=timeout, compute=True, environment=environ, root=root)


def ids(evidence: Evidence) -> list[str]:
    return [one.id for one in diagnose(evidence)]


class TestTensorFlowInAProcessOfItsOwn:
    def test_a_driver_that_hangs_is_a_finding(self, tmp_path: Path) -> None:
        site = tensorflow(tmp_path / "site", LISTING % "time.sleep(600)")
        evidence = gathered(tmp_path, environment(site, CUDA_VISIBLE_DEVICES="0"), timeout=ENOUGH)
        asked = evidence.asked_tensorflow
        assert (asked.ended, asked.step) == ("timeout", "list")
        assert "driver-hangs" in ids(evidence)
        assert evidence.version == "2.21.0" and evidence.messages.cuinit == "CUDA_ERROR_UNKNOWN: unknown error"

    def test_processes_that_it_started_end_with_it(self, tmp_path: Path) -> None:
        mark = tmp_path / "pid"
        started = (
            "import subprocess; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
            f"open({str(mark)!r}, 'w').write(str(child.pid)); time.sleep(600)"
        )
        site = tensorflow(tmp_path / "site", LISTING % started)
        gathered(tmp_path, environment(site), timeout=ENOUGH)
        child = Path(f"/proc/{mark.read_text()}/exe")
        for _ in range(1000):
            if not child.exists():
                return  # signals are slow on a busy machine
            time.sleep(0.1)
        pytest.fail("the child lives on")

    @pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
    @pytest.mark.parametrize("signal", ["SIGSEGV", "SIGABRT"])
    def test_a_driver_that_crashes_is_a_finding(self, tmp_path: Path, signal: str) -> None:
        site = tensorflow(tmp_path / "site", LISTING % f"os.kill(os.getpid(), signal.{signal})")
        evidence = gathered(tmp_path, environment(site, CUDA_VISIBLE_DEVICES="0"))
        assert (evidence.asked_tensorflow.ended, evidence.asked_tensorflow.error) == ("crashed", signal)
        assert "driver-crashes" in ids(evidence)

    @pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
    @pytest.mark.parametrize(("signal", "expected"), [("SIGILL", "instruction-set"), ("SIGSEGV", "import-crashes")])
    def test_a_crash_at_the_import(self, tmp_path: Path, signal: str, expected: str) -> None:
        site = tensorflow(tmp_path / "site", f"import os, signal\nos.kill(os.getpid(), signal.{signal})\n")
        assert ids(gathered(tmp_path, environment(site)))[0] == expected

    def test_a_hang_at_the_import(self, tmp_path: Path) -> None:
        site = tensorflow(tmp_path / "site", "import time\ntime.sleep(600)\n")
        assert ids(gathered(tmp_path, environment(site), timeout=ENOUGH))[0] == "import-hangs"

    def test_a_failure_at_the_import_is_read(self, tmp_path: Path) -> None:
        site = tensorflow(tmp_path / "site", "raise TypeError('Descriptors cannot be created directly.\\nMore')\n")
        distribution(site, "tensorflow", "2.7.1", "protobuf (>=3.9.2)")
        first = diagnose(gathered(tmp_path, environment(site)))[0]
        assert first.id == "protobuf" and "'protobuf (>=3.9.2)'" in first.fix

    def test_what_the_package_prints_does_not_disturb(self, tmp_path: Path) -> None:
        source = "import os\nprint('[1, 2]')\nos.write(1, b'noise')\n" + LISTING % "return []"
        evidence = gathered(tmp_path, environment(tensorflow(tmp_path / "site", source)))
        assert evidence.listed and evidence.asked_tensorflow.ended == "answered"

    @pytest.mark.parametrize("status", [0, 3])
    def test_a_process_that_ends_itself(self, tmp_path: Path, status: int) -> None:
        site = tensorflow(tmp_path / "site", f"import os\nos._exit({status})\n")
        asked = gathered(tmp_path, environment(site)).asked_tensorflow
        assert (asked.ended, asked.error) == ("crashed", f"exit status {status}")

    def test_gpus_are_joined_with_the_log(self, tmp_path: Path) -> None:
        found = (
            "Device = type('Device', (), {'name': '/physical_device:GPU:0'}); "
            "print('pciBusID: 0000:86:00.0 name: Tesla T4 computeCapability: 7.5', file=sys.stderr); "
            "return [Device()] if kind == 'GPU' else []"
        )
        site = tensorflow(tmp_path / "site", LISTING % found)
        evidence = gather(
            sys.executable, timeout=30, compute=False, environment=environment(site), root=tmp_path / "nothing"
        )
        assert [gpu.bus for gpu in evidence.gpus] == ["0000:86:00.0"]
        assert evidence.gpu_expected == "TensorFlow found 1 card"


class TestInterpreter:
    def test_what_is_no_interpreter_is_wrong_usage(self, tmp_path: Path) -> None:
        with pytest.raises(NoInterpreter, match="No such file"):
            gather(str(tmp_path / "python"), timeout=10, compute=False, root=tmp_path)
        with pytest.raises(NoInterpreter, match="no answer"):
            gather("/bin/false", timeout=10, compute=False, root=tmp_path)

    def test_distributions_and_what_tensorflow_asks_for(self, tmp_path: Path) -> None:
        site = tensorflow(tmp_path / "site", LISTING % "return []")
        asked = 'nvidia-cudnn-cu12<10.0,>=9.3.0.75; extra == "and-cuda"'
        distribution(site, "tensorflow", "2.21.0", "numpy>=1.26.0", asked)
        distribution(site, "nvidia_cudnn_cu12", "9.1.0.70")
        distribution(site, "requests", "2.0")
        evidence = gathered(tmp_path / "nothing", environment(site))
        found = {one.name: one.version for one in evidence.interpreter.distributions}
        assert found["nvidia-cudnn-cu12"] == "9.1.0.70" and "requests" not in found
        assert evidence.gpu_expected == "nvidia-cudnn-cu12 9.1.0.70 is installed"
        assert "wheel-version" in ids(evidence)

    def test_a_directory_of_that_name_where_the_user_is(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tensorflow(tmp_path / "work", "layers = None\n")
        monkeypatch.chdir(tmp_path / "work")
        evidence = gathered(tmp_path, environment())
        assert ids(evidence)[0] == "tensorflow-shadowed"
        assert evidence.interpreter.package == str(tmp_path / "work" / "tensorflow")

    def test_a_directory_without_its_package(self, tmp_path: Path) -> None:
        (tmp_path / "site" / "tensorflow" / "include").mkdir(parents=True)
        code = "import importlib.util as u, sys; sys.exit(u.find_spec('tensorflow') is not None)"
        if subprocess.run([sys.executable, "-c", code], check=False).returncode:
            pytest.skip("a real TensorFlow stands before a directory without __init__.py")
        assert ids(gathered(tmp_path, environment(tmp_path / "site")))[0] == "tensorflow-leftover"


@needs_compiler
class TestLibraries:
    """Real files, opened by the real loader."""

    def site(self, tmp_path: Path) -> Path:
        """A TensorFlow for CUDA 12.5 whose library has the RUNPATH of the real wheel."""
        site = tensorflow(tmp_path / "site", LISTING % "return []")
        build = site / "tensorflow" / "python" / "platform" / "build_info.py"
        build.parent.mkdir(parents=True)
        build.write_text(
            "import collections\nbuild_info = collections.OrderedDict([('cuda_version', '12.5.1'), "
            "('cudnn_version', '9'), ('is_cuda_build', True)])\n"
        )
        asks = site / "tensorflow" / "libtensorflow_framework.so.2"
        library(asks, "int asks(void) { return 0; }", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../nvidia/cudnn/lib")
        distribution(site, "tensorflow", "2.21.0", 'nvidia-cudnn-cu12<10.0,>=9.3.0.75; extra == "and-cuda"')
        return site

    def cudnn(self, tmp_path: Path, site: Path, **variables: str) -> Library:
        evidence = gathered(tmp_path / "nothing", environment(site, **variables))
        (found,) = (one for one in evidence.libraries if one.name == CUDNN)
        return found

    def test_beside_tensorflow_where_its_runpath_points(self, tmp_path: Path) -> None:
        site = self.site(tmp_path)
        path = library(
            site / "nvidia" / "cudnn" / "lib" / CUDNN, "unsigned long cudnnGetVersion(void) { return 90300; }"
        )
        found = self.cudnn(tmp_path, site)
        assert (found.path, found.version, found.error) == (str(path), 90300, "")

    def test_where_ld_library_path_points_before_that(self, tmp_path: Path) -> None:
        site = self.site(tmp_path)
        library(site / "nvidia" / "cudnn" / "lib" / CUDNN)
        old = library(tmp_path / "old" / CUDNN, "unsigned long cudnnGetVersion(void) { return 90100; }")
        variables = {"LD_LIBRARY_PATH": str(old.parent), "CUDA_VISIBLE_DEVICES": "0"}
        evidence = gathered(tmp_path / "nothing", environment(site, **variables))
        found = {one.id: one for one in diagnose(evidence)}
        assert f"cuDNN 9.1.0 is loaded from {old}" in found["cudnn-too-old"].seen
        assert found["cudnn-too-old"].fix == "export LD_LIBRARY_PATH=''"

    def test_in_a_wheel_of_another_directory(self, tmp_path: Path) -> None:
        site = self.site(tmp_path)
        path = library(tmp_path / "user" / "nvidia" / "cudnn" / "lib" / CUDNN)
        evidence = gathered(tmp_path / "nothing", environment(site, tmp_path / "user", CUDA_VISIBLE_DEVICES="0"))
        found = {one.id: one for one in diagnose(evidence)}
        assert found["wheels-not-found"].fix == f"export LD_LIBRARY_PATH={path.parent}"
        looked = next(one.looked for one in evidence.libraries if one.name == CUDNN)
        assert looked == (str(site / "nvidia" / "cudnn" / "lib"),)

    def test_of_another_major_version(self, tmp_path: Path) -> None:
        site = self.site(tmp_path)
        other = library(site / "nvidia" / "cudnn" / "lib" / "libcudnn.so.8")
        assert self.cudnn(tmp_path, site).others == (str(other),)

    @pytest.mark.parametrize("content", [b"", b"\x7fELF", b"not a library at all" * 100])
    def test_damaged(self, tmp_path: Path, content: bytes) -> None:
        site = self.site(tmp_path)
        path = site / "nvidia" / "cudnn" / "lib" / CUDNN
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        found = self.cudnn(tmp_path, site)
        assert found.path == "" and str(path) in found.error

    def test_without_a_library_that_it_needs(self, tmp_path: Path) -> None:
        site = self.site(tmp_path)
        needed = library(tmp_path / "build" / "libnvJitLink.so.12", "int needed(void) { return 1; }")
        source = "int needed(void); int asks(void) { return needed(); }"
        library(site / "nvidia" / "cudnn" / "lib" / CUDNN, source, str(needed))
        found = self.cudnn(tmp_path, site)
        assert found.error.startswith("libnvJitLink.so.12: cannot open shared object file")

    def test_that_ends_the_process(self, tmp_path: Path) -> None:
        site = self.site(tmp_path)
        crash = "#include <signal.h>\n__attribute__((constructor)) static void start(void) { raise(SIGSEGV); }"
        library(site / "nvidia" / "cudnn" / "lib" / CUDNN, crash)
        evidence = gathered(tmp_path / "nothing", environment(site))
        asked = evidence.asked_libraries
        assert (asked.ended, asked.step, asked.error) == ("crashed", CUDNN, "SIGSEGV")
        assert "libcublas.so.12" in {one.name for one in evidence.libraries}

    def test_missing(self, tmp_path: Path) -> None:
        found = self.cudnn(tmp_path, self.site(tmp_path))
        assert found.error == f"{CUDNN}: cannot open shared object file: No such file or directory"


@needs_compiler
class TestManagementLibrary:
    """nvidia-ml-py on a stand-in for NVML."""

    def asked(self, tmp_path: Path, timeout: float = 60, **variables: str) -> Evidence:
        path = driver(tmp_path / "driver")
        site = tensorflow(tmp_path / "site", LISTING % "return []")
        variables = {"LD_LIBRARY_PATH": str(path), "CUDA_VISIBLE_DEVICES": "0", **variables}
        return gathered(tmp_path / "nothing", environment(site, **variables), timeout=timeout)

    def test_a_driver_without_cards(self, tmp_path: Path) -> None:
        assert self.asked(tmp_path).no_cards == "the NVIDIA driver has no card"

    def test_a_driver_that_was_updated_and_not_loaded(self, tmp_path: Path) -> None:
        assert "driver-mismatch" in ids(self.asked(tmp_path, STANDIN_NVML="18"))

    @pytest.mark.parametrize(("how", "timeout", "ended"), [("hang", ENOUGH, "timeout"), ("crash", 60, "crashed")])
    def test_a_driver_that_hangs_or_crashes(self, tmp_path: Path, how: str, timeout: float, ended: str) -> None:
        evidence = self.asked(tmp_path, timeout, STANDIN_NVML=how)
        assert (evidence.asked_cards.ended, evidence.asked_cards.step) == (ended, "nvmlInit")


def test_an_answer_that_was_torn_is_left_out(tmp_path: Path) -> None:
    """A process that dies while writing leaves half a row."""
    source = (
        "import glob, os\nfor path in glob.glob(os.environ['ANSWERS']):\n    open(path, 'a').write('[\"gpus\", [{')\n"
    )
    site = tensorflow(tmp_path / "site", source + "os._exit(1)\n")
    variables = {"ANSWERS": str(tmp_path / "gpulint-*" / "answers"), "TMPDIR": str(tmp_path)}
    answer = ask(
        sys.executable,
        "runtime",
        {"compute": False},
        deadline=time.monotonic() + 300,
        environment=environment(site, **variables),
    )
    assert answer.ended == "crashed" and "gpus" not in answer.values
