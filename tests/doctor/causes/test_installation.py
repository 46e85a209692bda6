"""Causes, each on an otherwise healthy machine: TensorFlow as it is installed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulint.doctor.answer import Answer
from gpulint.doctor.causes import diagnose
from gpulint.doctor.evidence import Build, Distribution
from gpulint.doctor.report import MachineReport, render
from gpulint.linting.finding import Severity
from tests.doctor.situations import (
    GPUS,
    HEALTHY,
    INTERPRETER,
    NO_GPUS,
    NO_HARDWARE,
    SITE,
    ids,
    on,
    only,
)


def test_no_tensorflow() -> None:
    one = diagnose(
        on(NO_HARDWARE, interpreter={"package": "", "distributions": ()}, asked_tensorflow=Answer("not asked"))
    )
    assert (one[0].id, one[0].severity) == ("no-tensorflow", Severity.ERROR)
    assert one[0].fix == "/venv/bin/python -m pip install 'tensorflow[and-cuda]==2.21.0'"


@pytest.mark.parametrize(("name", "kind"), [("tensorflow.py", "module"), ("tensorflow", "package")])
def test_a_local_file_or_directory_of_that_name(name: str, kind: str) -> None:
    failed = Answer("failed", "import", "AttributeError: module 'tensorflow' has no attribute 'config'")
    found = only(
        on(interpreter={"package": f"/home/user/work/{name}", "kind": kind}, asked_tensorflow=failed, **NO_GPUS)
    )
    assert found.id == "tensorflow-shadowed" and found.severity is Severity.ERROR
    assert found.fix == f"mv /home/user/work/{name} /home/user/work/my_{name}"


@pytest.mark.parametrize("answer", [Answer("crashed", "import", "SIGSEGV"), Answer("timeout", "import")])
def test_a_local_file_explains_that_it_crashes_or_hangs(answer: Answer) -> None:
    evidence = on(
        interpreter={"package": "/home/user/work/tensorflow.py", "kind": "module"},
        asked_tensorflow=answer,
        **NO_GPUS,
    )
    assert only(evidence).id == "tensorflow-shadowed"
    text = render("text", MachineReport(evidence, diagnose(evidence)), False)
    assert "\ntensorflow in /home/user/work/tensorflow.py, which is not TensorFlow\n" in text


def test_an_environment_below_the_working_directory_is_not_in_the_way() -> None:
    site = "/home/user/work/.venv/lib/python3.11/site-packages"
    installed = (Distribution("tensorflow", "2.21.0", site),)
    assert ids(on(interpreter={"package": f"{site}/tensorflow", "distributions": installed})) == []


def test_what_is_left_of_a_removed_tensorflow() -> None:
    failed = Answer("failed", "import", "AttributeError: module 'tensorflow' has no attribute 'config'")
    one = only(on(interpreter={"kind": "namespace", "distributions": ()}, asked_tensorflow=failed, **NO_GPUS))
    assert one.id == "tensorflow-leftover" and "--force-reinstall" in one.fix


def test_two_distributions_over_each_other() -> None:
    both = (Distribution("tensorflow", "2.21.0", SITE), Distribution("tensorflow-cpu", "2.20.0", SITE))
    one = only(on(interpreter={"distributions": both}))
    assert one.id == "two-tensorflows" and "tensorflow-cpu 2.20.0" in one.seen
    assert "pip uninstall --yes tensorflow tensorflow-cpu &&" in one.fix


def test_a_distribution_that_another_one_brings_along() -> None:
    both = (Distribution("tensorflow", "2.15.0", SITE), Distribution("tensorflow-intel", "2.15.0", SITE))
    assert ids(on(interpreter={"distributions": both})) == []


def test_a_wheel_without_cuda_where_there_are_cards() -> None:
    cpu = (Distribution("tensorflow-cpu", "2.21.0", SITE),)
    one = only(on(interpreter={"distributions": cpu}, build=Build(), **NO_GPUS))
    assert one.id == "cpu-wheel" and one.severity is Severity.ERROR
    assert one.fix.startswith("/venv/bin/python -m pip uninstall --yes tensorflow-cpu && ")
    assert one.fix.endswith("'tensorflow[and-cuda]==2.21.0'")


def test_a_wheel_without_cuda_where_there_is_nothing_to_miss() -> None:
    cpu = (Distribution("tensorflow-cpu", "2.21.0", SITE),)
    one = only(on(NO_HARDWARE, interpreter={"distributions": cpu}, build=Build()))
    assert (one.id, one.severity) == ("no-gpu", Severity.INFO)


@pytest.mark.parametrize(("version", "expected"), [("2.11.0", ["windows-wheel"]), ("2.10.1", [])])
def test_windows(version: str, expected: list[str]) -> None:
    build = Build() if expected else replace(HEALTHY.build, cuda_version="11.2", cudnn_version="8")
    machine = {"system": "Windows", "bus_cards": (), "kernel_driver": "", "device_files": {}}
    gpus = () if expected else GPUS
    assert ids(on(machine=machine, version=version, build=build, gpus=gpus, libraries=())) == expected


def test_aarch64() -> None:
    one = only(on(machine={"architecture": "aarch64"}, build=Build(), **NO_GPUS))
    assert one.id == "cpu-wheel" and "nvcr.io" in one.fix


@pytest.mark.parametrize(
    ("architecture", "metal", "severities"),
    [("arm64", False, [Severity.WARNING]), ("arm64", True, []), ("x86_64", False, [Severity.INFO])],
)
def test_macos(architecture: str, metal: bool, severities: list[Severity]) -> None:
    extra = (Distribution("tensorflow-metal", "1.2.0", SITE),) if metal else ()
    evidence = on(
        NO_HARDWARE,
        machine={"system": "Darwin", "architecture": architecture},
        interpreter={"distributions": (*INTERPRETER.distributions, *extra)},
        build=Build(),
        libraries=(),
    )
    assert [one.severity for one in diagnose(evidence)] == severities
