"""Causes, each on an otherwise healthy machine: CUDA's libraries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulint.doctor.evidence import Distribution, Evidence, Library
from gpulint.linting.finding import Severity
from tests.doctor.situations import (
    CARDS,
    GPUS,
    HEALTHY,
    INTERPRETER,
    NO_GPUS,
    NO_HARDWARE,
    SITE,
    ids,
    on,
    only,
    said,
)


def closed(**fields: object) -> Evidence:
    name = "libcudnn.so.9"
    missing = f"{name}: cannot open shared object file: No such file or directory"
    places = (f"{SITE}/nvidia/cudnn/lib", "/nowhere")
    library = Library(**{"name": name, "error": missing, "looked": places, "present": places[:1], **fields})  # type: ignore[arg-type]
    rest = tuple(one for one in HEALTHY.libraries if one.name != name)
    return on(libraries=(*rest, library), **NO_GPUS)


def test_missing() -> None:
    one = only(closed())
    assert one.id == "library-missing" and one.seen == "libcudnn.so.9 cannot be opened"
    assert one.fix.endswith("pip install 'tensorflow[and-cuda]==2.21.0'")
    assert one.evidence[-1] == (
        f"looked in: {SITE}/nvidia/cudnn/lib, 1 directory that does not exist, the system's directories"
    )


def test_another_version_is_there() -> None:
    one = only(closed(others=("/usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.7",)))
    assert one.id == "library-other-version" and one.evidence[0].endswith("libcudnn.so.8.9.7")


def test_the_wheels_are_there_and_not_found() -> None:
    one = only(closed(elsewhere=(f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9",)))
    assert one.id == "wheels-not-found" and one.fix == f"export LD_LIBRARY_PATH={SITE}/nvidia/cudnn/lib"


def test_a_directory_that_is_not_searched() -> None:
    one = only(closed(elsewhere=("/usr/local/cuda-12.5/lib64/libcudnn.so.9",)))
    assert one.id == "library-elsewhere" and one.fix == "export LD_LIBRARY_PATH=/usr/local/cuda-12.5/lib64"


def test_a_damaged_file() -> None:
    one = only(closed(error=f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9: file too short"))
    assert one.id == "library-broken" and one.evidence == (f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9: file too short",)
    assert one.fix == "/venv/bin/python -m pip install --force-reinstall 'nvidia-cudnn-cu12<10.0,>=9.3.0.75'"


def test_a_damaged_file_that_ld_library_path_puts_first() -> None:
    evidence = closed(error="/opt/old/libcudnn.so.9: invalid ELF header")
    one = only(on(evidence, environment={"LD_LIBRARY_PATH": "/opt/old:/opt/new"}))
    assert one.id == "library-broken" and one.fix == "export LD_LIBRARY_PATH=/opt/new"


def test_a_library_that_another_one_needs() -> None:
    error = "libnvJitLink.so.12: cannot open shared object file: No such file or directory"
    one = only(closed(error=error))
    assert one.id == "library-broken" and one.evidence == (error,)


def test_tensorflow_names_libraries_that_were_not_inspected() -> None:
    one = only(on(libraries=(), messages=said("2.21-libraries.log"), **NO_GPUS))
    assert one.id == "library-missing"
    assert one.seen == (
        "libcudnn.so.9, libcudart.so.12, libcublas.so.12, libcublasLt.so.12, libcufft.so.11, libcusolver.so.11, "
        "libcusparse.so.12 cannot be opened"
    )


def test_tensorflow_names_a_library_that_another_one_needs() -> None:
    one = only(on(libraries=(), messages=said("issue-dependency.log"), **NO_GPUS))
    assert one.id == "library-broken" and one.seen.startswith("libcusolver.so.11 ")


def test_tensorflow_names_libraries_of_windows() -> None:
    evidence = on(libraries=(), messages=said("issue-windows.log"), machine={"system": "Windows"}, **NO_GPUS)
    one = only(on(evidence, messages=replace(evidence.messages, skipped=True)))
    assert one.id == "library-missing" and one.fix.startswith("conda install")


def test_where_no_gpu_is_expected_they_are_not_missed() -> None:
    assert ids(on(NO_HARDWARE, libraries=(Library("libcudnn.so.9", error="no"),))) == ["no-gpu"]


def test_nccl_is_missed_by_several_cards() -> None:
    nccl = Library("libnccl.so.2", error="libnccl.so.2: cannot open shared object file: No such file or directory")
    assert only(on(libraries=(*HEALTHY.libraries, nccl))).id == "nccl-missing"
    assert ids(on(libraries=(*HEALTHY.libraries, nccl), cards=CARDS[:1], gpus=GPUS[:1])) == []
    assert ids(on(libraries=(*HEALTHY.libraries, nccl), interpreter={"requires": ()})) == []


@pytest.mark.parametrize(
    ("name", "version", "severity"),
    [("nvidia-cudnn-cu12", "9.1.0.70", Severity.ERROR), ("nvidia-cublas-cu12", "12.4.5.8", Severity.WARNING)],
)
def test_wheels_of_another_version(name: str, version: str, severity: Severity) -> None:
    wheels = (Distribution(name, version, SITE), Distribution("torch", "2.6.0", SITE))
    one = only(on(interpreter={"distributions": (*INTERPRETER.distributions, *wheels)}))
    assert one.id == "wheel-version" and one.severity is severity
    assert f"{name} {version}" in one.seen and "torch 2.6.0" in one.why and f"'{name}<" in one.fix


@pytest.mark.parametrize("version", ["9.10.2.21", "no version"])
def test_wheels_of_the_versions_asked_for_or_of_none(version: str) -> None:
    wheels = (Distribution("nvidia-cudnn-cu12", version, SITE),)
    assert ids(on(interpreter={"distributions": (*INTERPRETER.distributions, *wheels)})) == []


def test_an_older_cudnn_is_loaded() -> None:
    cudnn = Library("libcudnn.so.9", "/opt/old/libcudnn.so.9", version=90100)
    one = only(on(libraries=(cudnn,), environment={"LD_LIBRARY_PATH": "/opt/old"}))
    assert one.id == "cudnn-too-old" and "cuDNN 9.1.0 is loaded from /opt/old/libcudnn.so.9" in one.seen
    assert one.fix == "export LD_LIBRARY_PATH=''"


def test_tensorflow_says_that_cudnn_is_too_old() -> None:
    one = only(on(messages=said("issue-cudnn.log")))
    assert one.id == "cudnn-too-old" and "9.1.0" in one.seen and "9.3.0" in one.seen
    assert one.fix == "/venv/bin/python -m pip install 'nvidia-cudnn-cu12<10.0,>=9.3.0.75'"
