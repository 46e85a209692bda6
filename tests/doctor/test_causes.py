"""Each cause, on an otherwise healthy machine."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gpulint.doctor import causes, messages
from gpulint.doctor.answer import Answer
from gpulint.doctor.causes import diagnose
from gpulint.doctor.diagnosis import Diagnosis
from gpulint.doctor.evidence import Build, Card, Distribution, Evidence, Library
from gpulint.doctor.machine import BusCard
from gpulint.doctor.report import MachineReport, render
from gpulint.linting.finding import Severity
from gpulint.probe.measures.cards import NOT_KNOWN, Row
from tests.doctor.situations import (
    ANSWERED,
    CARDS,
    COMPUTED,
    FIXTURES,
    GIB,
    GPUS,
    H100,
    HEALTHY,
    INTERPRETER,
    MACHINE,
    NO_HARDWARE,
    SITE,
    log,
    on,
)

NO_GPUS = {"gpus": ()}


def only(evidence: Evidence) -> Diagnosis:
    (one,) = diagnose(evidence)
    return one


def ids(evidence: Evidence) -> list[str]:
    return [one.id for one in diagnose(evidence)]


def said(name: str) -> messages.Messages:
    return messages.read(log(name))


def test_on_a_healthy_machine_nothing_is_reported() -> None:
    assert diagnose(HEALTHY) == []


class TestInstallation:
    def test_no_tensorflow(self) -> None:
        one = diagnose(
            on(NO_HARDWARE, interpreter={"package": "", "distributions": ()}, asked_tensorflow=Answer("not asked"))
        )
        assert (one[0].id, one[0].severity) == ("no-tensorflow", Severity.ERROR)
        assert one[0].fix == "/venv/bin/python -m pip install 'tensorflow[and-cuda]==2.21.0'"

    @pytest.mark.parametrize(("name", "kind"), [("tensorflow.py", "module"), ("tensorflow", "package")])
    def test_a_local_file_or_directory_of_that_name(self, name: str, kind: str) -> None:
        failed = Answer("failed", "import", "AttributeError: module 'tensorflow' has no attribute 'config'")
        found = only(
            on(interpreter={"package": f"/home/user/work/{name}", "kind": kind}, asked_tensorflow=failed, **NO_GPUS)
        )
        assert found.id == "tensorflow-shadowed" and found.severity is Severity.ERROR
        assert found.fix == f"mv /home/user/work/{name} /home/user/work/my_{name}"

    @pytest.mark.parametrize("answer", [Answer("crashed", "import", "SIGSEGV"), Answer("timeout", "import")])
    def test_a_local_file_explains_that_it_crashes_or_hangs(self, answer: Answer) -> None:
        evidence = on(
            interpreter={"package": "/home/user/work/tensorflow.py", "kind": "module"},
            asked_tensorflow=answer,
            **NO_GPUS,
        )
        assert only(evidence).id == "tensorflow-shadowed"
        text = render("text", MachineReport(evidence, diagnose(evidence)), False)
        assert "\ntensorflow in /home/user/work/tensorflow.py, which is not TensorFlow\n" in text

    def test_an_environment_below_the_working_directory_is_not_in_the_way(self) -> None:
        site = "/home/user/work/.venv/lib/python3.11/site-packages"
        installed = (Distribution("tensorflow", "2.21.0", site),)
        assert ids(on(interpreter={"package": f"{site}/tensorflow", "distributions": installed})) == []

    def test_what_is_left_of_a_removed_tensorflow(self) -> None:
        failed = Answer("failed", "import", "AttributeError: module 'tensorflow' has no attribute 'config'")
        one = only(on(interpreter={"kind": "namespace", "distributions": ()}, asked_tensorflow=failed, **NO_GPUS))
        assert one.id == "tensorflow-leftover" and "--force-reinstall" in one.fix

    def test_two_distributions_over_each_other(self) -> None:
        both = (Distribution("tensorflow", "2.21.0", SITE), Distribution("tensorflow-cpu", "2.20.0", SITE))
        one = only(on(interpreter={"distributions": both}))
        assert one.id == "two-tensorflows" and "tensorflow-cpu 2.20.0" in one.seen
        assert "pip uninstall --yes tensorflow tensorflow-cpu &&" in one.fix

    def test_a_distribution_that_another_one_brings_along(self) -> None:
        both = (Distribution("tensorflow", "2.15.0", SITE), Distribution("tensorflow-intel", "2.15.0", SITE))
        assert ids(on(interpreter={"distributions": both})) == []

    def test_a_wheel_without_cuda_where_there_are_cards(self) -> None:
        cpu = (Distribution("tensorflow-cpu", "2.21.0", SITE),)
        one = only(on(interpreter={"distributions": cpu}, build=Build(), **NO_GPUS))
        assert one.id == "cpu-wheel" and one.severity is Severity.ERROR
        assert one.fix.startswith("/venv/bin/python -m pip uninstall --yes tensorflow-cpu && ")
        assert one.fix.endswith("'tensorflow[and-cuda]==2.21.0'")

    def test_a_wheel_without_cuda_where_there_is_nothing_to_miss(self) -> None:
        cpu = (Distribution("tensorflow-cpu", "2.21.0", SITE),)
        one = only(on(NO_HARDWARE, interpreter={"distributions": cpu}, build=Build()))
        assert (one.id, one.severity) == ("no-gpu", Severity.INFO)

    @pytest.mark.parametrize(("version", "expected"), [("2.11.0", ["windows-wheel"]), ("2.10.1", [])])
    def test_windows(self, version: str, expected: list[str]) -> None:
        build = Build() if expected else replace(HEALTHY.build, cuda_version="11.2", cudnn_version="8")
        machine = {"system": "Windows", "bus_cards": (), "kernel_driver": "", "device_files": {}}
        gpus = () if expected else GPUS
        assert ids(on(machine=machine, version=version, build=build, gpus=gpus, libraries=())) == expected

    def test_aarch64(self) -> None:
        one = only(on(machine={"architecture": "aarch64"}, build=Build(), **NO_GPUS))
        assert one.id == "cpu-wheel" and "nvcr.io" in one.fix

    @pytest.mark.parametrize(
        ("architecture", "metal", "severities"),
        [("arm64", False, [Severity.WARNING]), ("arm64", True, []), ("x86_64", False, [Severity.INFO])],
    )
    def test_macos(self, architecture: str, metal: bool, severities: list[Severity]) -> None:
        extra = (Distribution("tensorflow-metal", "1.2.0", SITE),) if metal else ()
        evidence = on(
            NO_HARDWARE,
            machine={"system": "Darwin", "architecture": architecture},
            interpreter={"distributions": (*INTERPRETER.distributions, *extra)},
            build=Build(),
            libraries=(),
        )
        assert [one.severity for one in diagnose(evidence)] == severities


class TestImporting:
    @pytest.mark.parametrize(
        ("name", "expected", "fix"),
        [
            ("protobuf-3.19", "protobuf", "'protobuf<8.0.0,>=6.31.1'"),
            ("protobuf-3.19-2.16", "protobuf", "'protobuf<8.0.0,>=6.31.1'"),
            ("protobuf-4.25", "protobuf", "'protobuf<8.0.0,>=6.31.1'"),
            ("protobuf-5.29", "protobuf", "'protobuf<8.0.0,>=6.31.1'"),
            ("descriptors", "protobuf", "'protobuf<8.0.0,>=6.31.1'"),
            ("libprotobuf", "protobuf", "'protobuf<8.0.0,>=6.31.1'"),
            ("numpy-1.22", "numpy", "'numpy>=1.26.0'"),
            ("numpy-1.22-2.16", "numpy", "'numpy>=1.26.0'"),
            ("numpy-2.3-2.16", "numpy", "'numpy>=1.26.0'"),
            ("numpy-object", "numpy", "'numpy>=1.26.0'"),
            ("numpy-dtype", "numpy", "'numpy>=1.26.0'"),
            ("glibc", "c-library", "docker run"),
            ("dll", "visual-c", "winget install"),
        ],
    )
    def test_known_texts(self, name: str, expected: str, fix: str) -> None:
        text = log(f"import-{name}.txt")
        crashed = name == "libprotobuf"
        asked = (
            Answer("crashed", "import", "SIGABRT", log=text)
            if crashed
            else Answer("failed", "import", text.strip().splitlines()[-1], traceback=text)
        )
        one = only(on(asked_tensorflow=asked, **NO_GPUS))
        assert one.id == expected and fix in one.fix
        assert one.seen.startswith("`import tensorflow` fails: ")

    def test_another_implementation_of_protobuf(self) -> None:
        error = "ImportError: cannot import name '_message' from 'google.protobuf.pyext' (/x/__init__.py)"
        one = only(on(asked_tensorflow=Answer("failed", "import", error), **NO_GPUS))
        assert one.fix == "unset PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"

    def test_an_unknown_failure_is_reported_in_its_own_words(self) -> None:
        error = "ModuleNotFoundError: No module named 'absl'"
        one = only(on(asked_tensorflow=Answer("failed", "import", error), **NO_GPUS))
        assert one.id == "import-fails" and error in one.seen and "--force-reinstall" in one.fix

    @pytest.mark.parametrize(("signal", "expected"), [("SIGILL", "instruction-set"), ("SIGSEGV", "import-crashes")])
    def test_a_crash(self, signal: str, expected: str) -> None:
        one = only(on(asked_tensorflow=Answer("crashed", "import", signal), **NO_GPUS))
        assert one.id == expected and signal in one.seen

    def test_a_hang(self) -> None:
        one = only(on(asked_tensorflow=Answer("timeout", "import", seconds=60.0), **NO_GPUS))
        assert one.id == "import-hangs" and one.fix == "gpulint doctor --timeout 300"

    def test_a_flag_that_xla_does_not_know(self) -> None:
        asked = Answer("crashed", "import", "SIGABRT", log=log("2.21-xla-flag.log"))
        one = only(on(asked_tensorflow=asked, messages=said("2.21-xla-flag.log"), **NO_GPUS))
        assert one.id == "unknown-xla-flag" and one.fix == "unset TF_XLA_FLAGS"


class TestContainer:
    @pytest.mark.parametrize(
        ("kind", "fix"),
        [("Docker", "--gpus all"), ("Podman", "nvidia.com/gpu=all"), ("Kubernetes", "nvidia.com/gpu=1")],
    )
    def test_started_without_gpus(self, kind: str, fix: str) -> None:
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

    def test_an_image_for_gpus_on_a_machine_that_shows_none(self) -> None:
        one = only(on(NO_HARDWARE, machine={"container": "Docker", "environment": {"NVIDIA_VISIBLE_DEVICES": "all"}}))
        assert one.id == "container-without-gpu" and one.evidence == ("NVIDIA_VISIBLE_DEVICES=all",)

    def test_a_container_that_needs_no_gpus(self) -> None:
        assert ids(on(NO_HARDWARE, machine={"container": "Docker"})) == ["no-gpu"]

    def test_without_the_part_of_the_driver_that_computes(self) -> None:
        evidence = on(
            machine={"container": "Docker", "environment": {"NVIDIA_DRIVER_CAPABILITIES": "utility,graphics"}},
            libraries=(Library("libcuda.so.1", error="libcuda.so.1: cannot open"), Library("libnvidia-ml.so.1", "/x")),
            messages=said("2.21-no-driver.log"),
            **NO_GPUS,
        )
        one = only(evidence)
        assert one.id == "container-capabilities" and "compute" in one.why and "capabilities=compute,utility" in one.fix

    def test_device_files_of_somebody_else(self) -> None:
        one = only(on(machine={"device_files": {**MACHINE.device_files, "/dev/nvidia1": False}}))
        assert one.id == "device-files-denied" and one.seen.startswith("/dev/nvidia1 ")


class TestHardware:
    def test_no_gpu_is_no_error(self) -> None:
        one = only(NO_HARDWARE)
        assert (one.id, one.severity, one.fix) == ("no-gpu", Severity.INFO, "")

    @pytest.mark.parametrize("variable", ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"])
    def test_no_gpu_where_one_was_asked_for(self, variable: str) -> None:
        one = only(on(NO_HARDWARE, environment={variable: "0"}))
        assert (one.id, one.severity) == ("no-gpu", Severity.ERROR)
        assert variable in one.seen

    @pytest.mark.parametrize("value", ["-1", ""])
    def test_no_gpu_where_none_was_asked_for(self, value: str) -> None:
        assert only(on(NO_HARDWARE, environment={"CUDA_VISIBLE_DEVICES": value})).severity is Severity.INFO

    def test_wheels_of_nvidia_say_that_a_gpu_was_wanted(self) -> None:
        wheels = (*INTERPRETER.distributions, Distribution("nvidia-cudnn-cu12", "9.3.0.75", SITE))
        one = only(on(NO_HARDWARE, interpreter={"distributions": wheels}))
        assert one.id == "no-gpu" and "nvidia-cudnn-cu12" in one.seen

    def test_wsl_without_the_driver_of_windows(self) -> None:
        one = only(on(NO_HARDWARE, machine={"wsl": True, "device_files": {"/dev/dxg": True}}))
        assert one.id == "wsl-driver"


class TestDriver:
    @pytest.mark.parametrize(
        ("holder", "words", "fix"),
        [
            ("", "without a driver", "ubuntu-drivers"),
            ("nouveau", "nouveau", "ubuntu-drivers"),
            ("vfio-pci", "vfio", "driverctl"),
        ],
    )
    def test_no_driver(self, holder: str, words: str, fix: str) -> None:
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

    def test_a_driver_that_is_too_old_for_the_cuda_of_the_wheel(self) -> None:
        one = only(on(machine={"kernel_driver": "470.82.01"}, cuda_driver="11.4", **NO_GPUS))
        assert one.id == "driver-too-old" and "525.60.13" in one.seen

    def test_a_driver_was_updated_and_not_loaded(self) -> None:
        one = only(on(messages=said("issue-versions.log"), cards=(), memory=(), **NO_GPUS))
        assert one.id == "driver-mismatch" and one.fix == "sudo reboot"
        assert "460.91.3" in one.seen and "470.57.2" in one.seen

    def test_a_driver_mismatch_is_reported_by_nvml_too(self) -> None:
        reason = "NVMLError_LibRmVersionMismatch: RM has detected an NVML/RM version mismatch."
        one = only(on(no_cards=reason, cards=(), memory=(), **NO_GPUS))
        assert one.id == "driver-mismatch" and one.evidence == (reason,)

    @pytest.mark.parametrize("name", ["libcuda.so.1", "libnvidia-ml.so.1"])
    def test_a_part_of_the_driver_is_missing(self, name: str) -> None:
        libraries = (
            *(one for one in HEALTHY.libraries if one.name != name),
            Library(name, error=f"{name}: cannot open"),
        )
        one = only(on(libraries=libraries, messages=said("2.21-no-driver.log"), **NO_GPUS))
        assert one.id == "driver-library" and name in one.seen

    def test_the_stub_for_linking(self) -> None:
        stub = Library("libcuda.so.1", "/usr/local/cuda/lib64/stubs/libcuda.so.1")
        environment = {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64/stubs:/usr/local/cuda/lib64"}
        one = only(on(environment=environment, libraries=(stub,), messages=said("issue-docker.log"), **NO_GPUS))
        assert one.id == "driver-stub" and one.fix == "export LD_LIBRARY_PATH=/usr/local/cuda/lib64"

    def test_no_unified_memory(self) -> None:
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
    def test_the_driver_refuses(self, name: str, words: str, fix: str) -> None:
        one = only(on(messages=said(name), **NO_GPUS))
        assert one.id == "driver-refuses" and words in one.seen and fix in one.fix

    def test_the_driver_hangs_under_tensorflow(self) -> None:
        one = only(on(asked_tensorflow=Answer("timeout", "list", seconds=60.0), **NO_GPUS))
        assert one.id == "driver-hangs" and "60 s" in one.seen

    def test_the_driver_hangs_under_nvml(self) -> None:
        one = only(on(asked_cards=Answer("timeout", "nvmlInit", seconds=60.0)))
        assert one.id == "driver-hangs" and "NVML (nvmlInit)" in one.seen

    def test_the_driver_crashes(self) -> None:
        one = only(on(asked_tensorflow=Answer("crashed", "list", "SIGSEGV"), **NO_GPUS))
        assert one.id == "driver-crashes" and "SIGSEGV" in one.seen

    def test_a_library_crashes_when_it_is_opened(self) -> None:
        one = only(on(asked_libraries=Answer("crashed", "libcudnn.so.9", "SIGSEGV")))
        assert one.id == "driver-crashes" and "libcudnn.so.9" in one.seen

    def test_listing_fails(self) -> None:
        one = only(on(asked_tensorflow=Answer("failed", "list", "RuntimeError: no"), **NO_GPUS))
        assert one.id == "question-failed" and one.severity is Severity.ERROR


class TestVisibility:
    @pytest.mark.parametrize("value", ["", "-1", "-1,0", "2", "nonsense", "GPU-cccc"])
    def test_every_gpu_is_hidden(self, value: str) -> None:
        one = only(on(environment={"CUDA_VISIBLE_DEVICES": value}, messages=said("2.21-no-device.log"), **NO_GPUS))
        assert one.id == "gpus-hidden" and one.severity is Severity.ERROR
        assert one.fix == "unset CUDA_VISIBLE_DEVICES"

    @pytest.mark.parametrize("value", ["0", "1,0", "GPU-aaaa", "GPU-bb,GPU-aa", "0,1,-1"])
    def test_gpus_that_exist(self, value: str) -> None:
        assert ids(on(environment={"CUDA_VISIBLE_DEVICES": value})) == []

    @pytest.mark.parametrize("value", ["0,2,1", "0,-1,1"])
    def test_devices_listed_after_one_that_does_not_exist_are_hidden(self, value: str) -> None:
        one = only(on(environment={"CUDA_VISIBLE_DEVICES": value}, gpus=GPUS[:1]))
        assert one.id == "gpus-hidden" and one.severity is Severity.WARNING

    def test_a_card_named_twice(self) -> None:
        one = only(on(environment={"CUDA_VISIBLE_DEVICES": "0,0"}, **NO_GPUS))
        assert one.severity is Severity.ERROR and "twice" in one.why

    def test_an_instance(self) -> None:
        cards = (replace(CARDS[0], mig=True, instances=("MIG-1234-5678",)),)
        environment = {"CUDA_VISIBLE_DEVICES": "MIG-1234-5678"}
        assert ids(on(environment=environment, cards=cards, memory=(), gpus=GPUS[:1])) == []

    def test_numbers_that_are_not_those_of_nvidia_smi(self) -> None:
        one = only(on(gpus=(replace(GPUS[0], bus="0000:87:00.0"), replace(GPUS[1], bus="0000:86:00.0"))))
        assert one.id == "device-order" and one.seen == "GPU:0 is card 1 of nvidia-smi, GPU:1 is card 0 of nvidia-smi"
        assert one.fix == "export CUDA_DEVICE_ORDER=PCI_BUS_ID"


class TestLibraries:
    def closed(self, **fields: object) -> Evidence:
        name = "libcudnn.so.9"
        missing = f"{name}: cannot open shared object file: No such file or directory"
        places = (f"{SITE}/nvidia/cudnn/lib", "/nowhere")
        library = Library(**{"name": name, "error": missing, "looked": places, "present": places[:1], **fields})  # type: ignore[arg-type]
        rest = tuple(one for one in HEALTHY.libraries if one.name != name)
        return on(libraries=(*rest, library), **NO_GPUS)

    def test_missing(self) -> None:
        one = only(self.closed())
        assert one.id == "library-missing" and one.seen == "libcudnn.so.9 cannot be opened"
        assert one.fix.endswith("pip install 'tensorflow[and-cuda]==2.21.0'")
        assert one.evidence[-1] == (
            f"looked in: {SITE}/nvidia/cudnn/lib, 1 directory that does not exist, the system's directories"
        )

    def test_another_version_is_there(self) -> None:
        one = only(self.closed(others=("/usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.7",)))
        assert one.id == "library-other-version" and one.evidence[0].endswith("libcudnn.so.8.9.7")

    def test_the_wheels_are_there_and_not_found(self) -> None:
        one = only(self.closed(elsewhere=(f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9",)))
        assert one.id == "wheels-not-found" and one.fix == f"export LD_LIBRARY_PATH={SITE}/nvidia/cudnn/lib"

    def test_a_directory_that_is_not_searched(self) -> None:
        one = only(self.closed(elsewhere=("/usr/local/cuda-12.5/lib64/libcudnn.so.9",)))
        assert one.id == "library-elsewhere" and one.fix == "export LD_LIBRARY_PATH=/usr/local/cuda-12.5/lib64"

    def test_a_damaged_file(self) -> None:
        one = only(self.closed(error=f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9: file too short"))
        assert one.id == "library-broken" and one.evidence == (
            f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9: file too short",
        )
        assert one.fix == "/venv/bin/python -m pip install --force-reinstall 'nvidia-cudnn-cu12<10.0,>=9.3.0.75'"

    def test_a_damaged_file_that_ld_library_path_puts_first(self) -> None:
        evidence = self.closed(error="/opt/old/libcudnn.so.9: invalid ELF header")
        one = only(on(evidence, environment={"LD_LIBRARY_PATH": "/opt/old:/opt/new"}))
        assert one.id == "library-broken" and one.fix == "export LD_LIBRARY_PATH=/opt/new"

    def test_a_library_that_another_one_needs(self) -> None:
        error = "libnvJitLink.so.12: cannot open shared object file: No such file or directory"
        one = only(self.closed(error=error))
        assert one.id == "library-broken" and one.evidence == (error,)

    def test_tensorflow_names_libraries_that_were_not_inspected(self) -> None:
        one = only(on(libraries=(), messages=said("2.21-libraries.log"), **NO_GPUS))
        assert one.id == "library-missing"
        assert one.seen == (
            "libcudnn.so.9, libcudart.so.12, libcublas.so.12, libcublasLt.so.12, libcufft.so.11, libcusolver.so.11, "
            "libcusparse.so.12 cannot be opened"
        )

    def test_tensorflow_names_a_library_that_another_one_needs(self) -> None:
        one = only(on(libraries=(), messages=said("issue-dependency.log"), **NO_GPUS))
        assert one.id == "library-broken" and one.seen.startswith("libcusolver.so.11 ")

    def test_tensorflow_names_libraries_of_windows(self) -> None:
        evidence = on(libraries=(), messages=said("issue-windows.log"), machine={"system": "Windows"}, **NO_GPUS)
        one = only(on(evidence, messages=replace(evidence.messages, skipped=True)))
        assert one.id == "library-missing" and one.fix.startswith("conda install")

    def test_where_no_gpu_is_expected_they_are_not_missed(self) -> None:
        assert ids(on(NO_HARDWARE, libraries=(Library("libcudnn.so.9", error="no"),))) == ["no-gpu"]

    def test_nccl_is_missed_by_several_cards(self) -> None:
        nccl = Library("libnccl.so.2", error="libnccl.so.2: cannot open shared object file: No such file or directory")
        assert only(on(libraries=(*HEALTHY.libraries, nccl))).id == "nccl-missing"
        assert ids(on(libraries=(*HEALTHY.libraries, nccl), cards=CARDS[:1], gpus=GPUS[:1])) == []
        assert ids(on(libraries=(*HEALTHY.libraries, nccl), interpreter={"requires": ()})) == []

    @pytest.mark.parametrize(
        ("name", "version", "severity"),
        [("nvidia-cudnn-cu12", "9.1.0.70", Severity.ERROR), ("nvidia-cublas-cu12", "12.4.5.8", Severity.WARNING)],
    )
    def test_wheels_of_another_version(self, name: str, version: str, severity: Severity) -> None:
        wheels = (Distribution(name, version, SITE), Distribution("torch", "2.6.0", SITE))
        one = only(on(interpreter={"distributions": (*INTERPRETER.distributions, *wheels)}))
        assert one.id == "wheel-version" and one.severity is severity
        assert f"{name} {version}" in one.seen and "torch 2.6.0" in one.why and f"'{name}<" in one.fix

    @pytest.mark.parametrize("version", ["9.10.2.21", "no version"])
    def test_wheels_of_the_versions_asked_for_or_of_none(self, version: str) -> None:
        wheels = (Distribution("nvidia-cudnn-cu12", version, SITE),)
        assert ids(on(interpreter={"distributions": (*INTERPRETER.distributions, *wheels)})) == []

    def test_an_older_cudnn_is_loaded(self) -> None:
        cudnn = Library("libcudnn.so.9", "/opt/old/libcudnn.so.9", version=90100)
        one = only(on(libraries=(cudnn,), environment={"LD_LIBRARY_PATH": "/opt/old"}))
        assert one.id == "cudnn-too-old" and "cuDNN 9.1.0 is loaded from /opt/old/libcudnn.so.9" in one.seen
        assert one.fix == "export LD_LIBRARY_PATH=''"

    def test_tensorflow_says_that_cudnn_is_too_old(self) -> None:
        one = only(on(messages=said("issue-cudnn.log")))
        assert one.id == "cudnn-too-old" and "9.1.0" in one.seen and "9.3.0" in one.seen
        assert one.fix == "/venv/bin/python -m pip install 'nvidia-cudnn-cu12<10.0,>=9.3.0.75'"


class TestCapability:
    def with_cards(self, capability: tuple[int, int], **changes: object) -> Evidence:
        return on(
            gpus=tuple(replace(one, capability=capability) for one in GPUS),
            cards=tuple(replace(one, capability=capability) for one in CARDS),
            **changes,
        )

    @pytest.mark.parametrize("capability", [(6, 0), (6, 1), (7, 5), (8, 6), (8, 9), (9, 0)])
    def test_kernels_for_the_same_major_version(self, capability: tuple[int, int]) -> None:
        assert ids(self.with_cards(capability)) == []

    def test_kernels_that_the_driver_must_compile(self) -> None:
        one = only(self.with_cards((12, 0), cuda_driver="12.8"))
        assert one.id == "capability-compiled" and one.severity is Severity.WARNING and "12.0" in one.seen

    def test_a_driver_of_the_same_minor_version_compiles_them(self) -> None:
        assert only(self.with_cards((12, 0), cuda_driver="12.5")).id == "capability-compiled"

    def test_a_driver_that_cannot_read_them(self) -> None:
        one = only(self.with_cards((12, 0), cuda_driver="12.4"))
        assert one.id == "capability-driver" and one.severity is Severity.ERROR

    @pytest.mark.parametrize("capability", [(5, 2), (3, 7)])
    def test_a_card_that_is_too_old(self, capability: tuple[int, int]) -> None:
        one = only(self.with_cards(capability))
        assert one.id == "capability-missing" and one.severity is Severity.ERROR
        assert f"compute_{capability[0]}{capability[1]}" in one.fix

    def test_cards_that_tensorflow_alone_has_seen(self) -> None:
        found = ids(on(NO_HARDWARE, messages=said("2.21-new-card.log")))
        assert "capability-compiled" in found


class TestSelection:
    def test_a_small_card_beside_a_large_one(self) -> None:
        one = only(on(messages=said("2.21-few-cores.log"), gpus=GPUS[:1]))
        assert one.id == "gpu-ignored" and one.severity is Severity.WARNING
        assert one.fix == "export TF_MIN_GPU_MULTIPROCESSOR_COUNT=5"

    def test_a_card_of_an_old_capability(self) -> None:
        found = diagnose(on(messages=said("2.21-old-card.log"), gpus=GPUS[:1]))
        assert {one.id for one in found} == {"gpu-ignored", "capability-missing"}

    def test_a_card_that_is_lost(self) -> None:
        one = only(on(gpus=GPUS[:1]))
        assert one.id == "gpu-unlisted" and "0000:87:00.0" in one.seen

    def test_without_bus_ids_nothing_is_joined(self) -> None:
        assert ids(on(gpus=(replace(GPUS[0], bus=""),))) == []

    def test_instances(self) -> None:
        cut = (replace(CARDS[0], mig=True, instances=("MIG-1", "MIG-2")),)
        one = only(on(cards=cut, memory=(), gpus=GPUS[:1]))
        assert one.id == "mig" and one.fix == "export CUDA_VISIBLE_DEVICES=MIG-1"

    def test_a_card_that_is_to_be_cut_and_is_not(self) -> None:
        cut = (replace(CARDS[0], mig=True),)
        one = only(on(cards=cut, memory=(), messages=said("2.21-no-device.log"), **NO_GPUS))
        assert one.id == "mig-without-instance" and one.fix == "sudo nvidia-smi -i 0 -mig 0"

    def test_what_nothing_explains(self) -> None:
        one = only(on(**NO_GPUS))
        assert one.id == "no-gpu-listed" and "VLOG" in one.fix


class TestRunning:
    @pytest.mark.parametrize(
        ("error", "words"),
        [
            ("InternalError: CUDA_ERROR_OUT_OF_MEMORY: out of memory", "memory"),
            ("InternalError: 'cuLaunchKernel' failed with 'CUDA_ERROR_INVALID_HANDLE'", "kernels"),
            ("FailedPreconditionError: DNN library initialization failed.", "cuDNN"),
            ("UnimplementedError: DNN library is not found.", "cuDNN"),
            ("InternalError: Blas xGEMM launch failed", "cuBLAS"),
            ("InternalError: CUDA_ERROR_DEVICES_UNAVAILABLE", "another process"),
            ("InternalError: something else", "does not work"),
        ],
    )
    def test_the_first_operation_fails(self, error: str, words: str) -> None:
        asked = replace(ANSWERED, ended="failed", step="convolution on /device:GPU:0", error=error)
        one = only(on(asked_tensorflow=asked))
        assert one.id == "gpu-fails" and error in one.seen and words in one.why

    def test_the_devices_cannot_be_made(self) -> None:
        text = log("2.21-new-card.log")
        asked = replace(ANSWERED, ended="failed", step="create", error=text.strip().splitlines()[-1], log=text)
        one = only(on(asked_tensorflow=asked))
        assert one.id == "gpu-fails" and "runtime library" in one.why and "and-cuda" in one.fix

    @pytest.mark.parametrize(("capability", "words"), [((9, 0), "hangs"), ((12, 0), "compiles")])
    def test_the_first_operation_does_not_come_back(self, capability: tuple[int, int], words: str) -> None:
        asked = replace(ANSWERED, ended="timeout", step="matrix product on /device:GPU:0", seconds=60.0)
        gpus = tuple(replace(one, capability=capability) for one in GPUS)
        found = {one.id: one for one in diagnose(on(asked_tensorflow=asked, gpus=gpus, cuda_driver="12.8"))}
        assert words in found["gpu-hangs"].why


class TestMemory:
    def row(self, used: float, by_others: float) -> Row:
        others = NOT_KNOWN if by_others < 0 else int(by_others * GIB)
        return Row("0000:86:00.0", H100, 80 * GIB, int(used * GIB), 0, others, 0)

    def test_others_hold_a_part(self) -> None:
        one = only(on(memory=(self.row(30, 29.5),)))
        assert one.id == "memory-held" and one.severity is Severity.WARNING and "29.5 of 80.0 GiB" in one.seen
        assert one.fix == "export TF_FORCE_GPU_ALLOW_GROWTH=true"

    def test_others_hold_it_all(self) -> None:
        cards = (replace(CARDS[0], processes=(41, 42)), CARDS[1])
        one = only(on(memory=(self.row(79.5, 79),), cards=cards))
        assert one.severity is Severity.ERROR and one.fix == "ps -o pid,user,etime,args -p 41,42"

    def test_processes_that_a_container_does_not_show(self) -> None:
        assert only(on(memory=(self.row(30, -1),))).id == "memory-held"

    def test_what_the_driver_keeps_for_itself(self) -> None:
        assert ids(on(memory=(self.row(0.6, 0),))) == []

    @pytest.mark.parametrize(
        "card", [replace(CARDS[0], exclusive=True, processes=(7,)), replace(CARDS[0], prohibited=True)]
    )
    def test_a_card_for_one_process(self, card: Card) -> None:
        one = only(on(cards=(card, CARDS[1])))
        assert one.id == "compute-mode" and one.fix == "sudo nvidia-smi -i 0 -c DEFAULT"


class TestEnvironment:
    def test_an_allocator_that_does_not_exist(self) -> None:
        assert only(on(environment={"TF_GPU_ALLOCATOR": "bfc"})).id == "gpu-allocator"
        assert ids(on(environment={"TF_GPU_ALLOCATOR": "cuda_malloc_async"})) == []

    def test_keras_on_another_backend(self) -> None:
        one = only(on(environment={"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}))
        assert one.id == "keras-backend" and one.evidence == ("JAX_PLATFORMS=cpu",)

    def test_legacy_keras_without_its_package(self) -> None:
        one = only(on(environment={"TF_USE_LEGACY_KERAS": "1"}))
        assert one.id == "legacy-keras" and one.fix == "/venv/bin/python -m pip install 'tf_keras~=2.21.0'"
        with_it = (*INTERPRETER.distributions, Distribution("tf-keras", "2.21.0", SITE))
        assert ids(on(environment={"TF_USE_LEGACY_KERAS": "1"}, interpreter={"distributions": with_it})) == []

    def test_a_log_level_that_hides_the_reason(self) -> None:
        found = ids(on(environment={"TF_CPP_MIN_LOG_LEVEL": "3"}, **NO_GPUS))
        assert found == ["no-gpu-listed", "log-level"]
        assert ids(on(environment={"TF_CPP_MIN_LOG_LEVEL": "3"})) == []


def test_what_was_run_outweighs_what_was_looked_up() -> None:
    old = on(machine={"kernel_driver": "470.82.01"})  # with CUDA's forward compatibility it may work
    assert only(old).severity is Severity.ERROR
    assert only(on(old, computed=COMPUTED)).severity is Severity.WARNING


def test_errors_come_first() -> None:
    found = diagnose(on(environment={"CUDA_VISIBLE_DEVICES": "-1", "KERAS_BACKEND": "torch"}, **NO_GPUS))
    assert [one.id for one in found] == ["gpus-hidden", "keras-backend"]


def test_the_documentation_names_every_finding() -> None:
    made = set()
    for path in Path(causes.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("Diagnosis", "_Text")
            ):
                given = node.args[0 if node.func.id == "Diagnosis" else 1]
                made |= {one.value for one in ast.walk(given) if isinstance(one, ast.Constant)}
    page = (FIXTURES.parents[1] / "docs" / "doctor.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z-]+)`", page.partition("## Findings")[2].partition("## JSON")[0]))
    assert len(made) > 40
    assert {one for one in made if one and f"`{one}`" not in page} == set()
    assert {one for one in named if "-" in one} - made == {"tensorflow-cpu", "nvidia-smi"}
