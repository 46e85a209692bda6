"""The doctor's reports."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpulint.doctor import messages
from gpulint.doctor.causes import diagnose
from gpulint.doctor.diagnosis import CODES, Diagnosis
from gpulint.doctor.report import MachineReport, render
from gpulint.linting.finding import Severity
from tests.doctor.situations import COMPUTED, HEALTHY, NO_HARDWARE, log, on

ROOT = Path(__file__).parents[2]
ALL_IS_WELL = """\
Python 3.11.7 in /venv/bin/python, Linux x86_64
TensorFlow 2.21.0 in /venv/lib/python3.11/site-packages/tensorflow, built for CUDA 12.5.1, cuDNN 9
NVIDIA's driver 550.54.15, CUDA up to 12.4
card 0: NVIDIA H100 80GB HBM3 at 0000:86:00.0
card 1: NVIDIA H100 80GB HBM3 at 0000:87:00.0
GPU:0 of TensorFlow: NVIDIA H100 80GB HBM3 at 0000:86:00.0, first operations in 1.5 s
GPU:1 of TensorFlow: NVIDIA H100 80GB HBM3 at 0000:87:00.0, first operations in 0.5 s

TensorFlow computes on 2 GPUs.
"""

HIDDEN = """\

error[gpus-hidden] CUDA_VISIBLE_DEVICES is "-1"
  | card 0: NVIDIA H100 80GB HBM3 GPU-aaaa
  | card 1: NVIDIA H100 80GB HBM3 GPU-bbbb
  = why: it hides all cards from this process
  = help: unset CUDA_VISIBLE_DEVICES

1 problem keeps TensorFlow from its GPUs.
"""


def test_where_all_is_well() -> None:
    evidence = on(computed=COMPUTED)
    report = MachineReport(evidence, diagnose(evidence))
    assert render("text", report, False) == ALL_IS_WELL
    assert report.status == 0


def test_the_text_has_evidence_reason_and_fix() -> None:
    evidence = on(
        environment={"CUDA_VISIBLE_DEVICES": "-1"}, messages=messages.read(log("2.21-no-device.log")), gpus=()
    )
    report = MachineReport(evidence, diagnose(evidence))
    assert render("text", report, False).endswith(HIDDEN)
    assert report.status == 1


def test_a_machine_without_a_gpu_is_no_failure() -> None:
    report = MachineReport(NO_HARDWARE, diagnose(NO_HARDWARE))
    text = render("text", report, False)
    assert report.status == 0
    assert text.endswith("\nTensorFlow has no GPU here, and nothing suggests that it should.\n")


def test_the_object_for_programs() -> None:
    evidence = on(environment={"CUDA_VISIBLE_DEVICES": "-1"}, gpus=())
    content = json.loads(render("json", MachineReport(evidence, diagnose(evidence)), False))
    assert (content["version"], content["status"], content["expected"]) == (2, 1, "the driver shows 2 cards")
    (finding,) = content["findings"]
    assert (finding["code"], finding["severity"], finding["help"]) == (
        "gpus-hidden",
        "error",
        "unset CUDA_VISIBLE_DEVICES",
    )
    assert content["machine"]["environment"] == {"CUDA_VISIBLE_DEVICES": "-1"}
    assert content["cards"][1]["memory"] == [{"bus": "0000:87:00.0", "total": 80 << 30, "used": 1 << 30}]
    assert content["questions"]["tensorflow"]["ended"] == "answered"


def test_what_a_terminal_would_obey_is_taken_out() -> None:
    one = Diagnosis("import-fails", Severity.ERROR, "a \x1b[2J[bold]b", "c\nd", evidence=("\x07e",))
    text = render("text", MachineReport(HEALTHY, [one]), False)
    assert "\x1b" not in text and "\x07" not in text and "[bold]b" in text and "= why: c d" in text


def test_the_codes_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "doctor.md").read_text().partition("| code | problem")[2].partition("\n\n")[0]
    assert sorted(re.findall("`([a-z-]+)`", "".join(row.split("|")[1] for row in page.splitlines()[2:]))) == [*CODES]


def test_colors_only_where_they_are_wanted() -> None:
    report = MachineReport(NO_HARDWARE, diagnose(NO_HARDWARE))
    assert "\x1b[" in render("text", report, True) and "\x1b[" not in render("text", report, False)


def test_another_form_does_not_exist() -> None:
    with pytest.raises(KeyError):
        render("xml", MachineReport(HEALTHY, []), False)
