"""The report of a failed program: the error, the program's own frames, and what the error means."""

from __future__ import annotations

import json

import pytest

from gpulint.linting import pack
from gpulint.linting.finding import Finding, Severity
from gpulint.places import Span
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Frame, Where
from gpulint.probe.checks.verify import verify
from gpulint.probe.expectations.expectation import Run
from gpulint.probe.expectations.levels import IDS
from gpulint.probe.measures.failures import failure_of
from gpulint.probe.measures.known_errors import KNOWN, headline, known
from gpulint.probe.report import RunReport, render
from gpulint.probe.report.failure import failure
from gpulint.probe.report.page import render as page

IN_A_GRAPH = """ResourceExhaustedError: Graph execution error:

Detected at node MatMul defined at (most recent call last):
  File "/p/train.py", line 6, in <module>

  File "/p/train.py", line 4, in f

OOM when allocating tensor with shape[20000,20000] and type float on /job:localhost/replica:0/task:0/device:GPU:0
\t [[{{node MatMul}}]]
Hint: If you want to see a list of allocated tensors when OOM happens, add report_tensor_allocations_upon_oom
 [Op:__inference_f_10]"""


def test_the_table_names_rules_and_checks_that_there_are() -> None:
    assert len(KNOWN) >= 20
    rules = {rule.code for rule in pack.load([], installed=False)}
    for one in KNOWN:
        assert not one.code or one.code in rules | IDS.keys(), one
        assert one.means.endswith(".")


@pytest.mark.parametrize("one", KNOWN, ids=lambda one: one.text)
def test_an_error_is_known_by_its_text(one: object) -> None:
    found = known(f"InternalError: before {one.text} after")  # type: ignore[attr-defined]
    assert found is not None
    assert found.text in one.text or found is one  # type: ignore[attr-defined]


def test_the_headline_of_an_error_while_tracing_is_what_happened() -> None:
    traced = (
        'ValueError: in user code:\n\n    File "/p/train.py", line 7, in step  *\n        loss = f(x, y)\n'
        '    File "/lib/keras/nn.py", line 9, in loss\n        raise ValueError(\n\n    '
    )
    assert headline(f"{traced}ValueError: `output` must have a rank.\n") == "ValueError: `output` must have a rank."
    in_a_layer = "ValueError: Exception encountered when calling Dense.call().\n    \n    \x1b[1mNo shape\x1b[0m\n"
    assert headline(traced + in_a_layer) == "ValueError: No shape"
    assert headline("ValueError: in user code:\n") == "ValueError: in user code:"


def test_other_errors_are_not_explained() -> None:
    assert known("KeyError: 'x'") is None


def test_the_headline_of_an_error_in_a_graph_is_what_happened() -> None:
    told = "ResourceExhaustedError: OOM when allocating tensor with shape[20000,20000] and type float on "
    assert headline(IN_A_GRAPH).startswith(told)
    assert headline("ValueError: no") == "ValueError: no"
    several = (
        "InvalidArgumentError: Graph execution error:\n\n5 root error(s) found.\n  (0) INVALID_ARGUMENT:  no value\n"
    )
    assert headline(several) == "InvalidArgumentError: no value"
    assert headline("SystemExit: 3") == "SystemExit: 3"


def test_the_headline_of_an_error_in_a_layer_is_what_happened() -> None:
    """Keras prefixes it with the layer and prints it in bold, TensorFlow with the graph."""
    message = "Matrix size-incompatible: In[0]: [2,9], In[1]: [8,3] [Op:MatMul] name:"
    in_a_layer = (
        "InvalidArgumentError: Exception encountered when calling Dense.call().\n\n\x1b[1m{{function_node "
        f"__wrapped__MatMul_device_/job:localhost/replica:0/task:0/device:CPU:0}}}} {message} \x1b[0m\n\n"
        "Arguments received by Dense.call():\n  • inputs=tf.Tensor(shape=(2, 9), dtype=float32)"
    )
    assert headline(in_a_layer) == f"InvalidArgumentError: {message}"


def test_a_report_has_the_programs_own_frames_and_the_cure() -> None:
    frames = ((Where("/p/train.py", 6), "<module>"), (Where("/p/train.py", 4), "f"))
    capture = Capture(
        process={"pid": 1}, error=IN_A_GRAPH, error_at=Where("/p/train.py", 4), error_frames=frames, end={"status": 1}
    )
    lines = list(failure(capture))
    assert [line.strip().rpartition("/")[2] for line in lines[1:3]] == ["train.py:6 in <module>", "train.py:4 in f"]
    assert lines[3] == "  The device is full. Use a smaller batch or model, or more GPUs. (out-of-memory)"
    report = RunReport(capture, [], 4)
    assert "train.py:4 in f" in render("text", report, False)
    assert "Use a smaller batch or model" in page(report)
    told = json.loads(render("json", report, False))["run"]["failure"]
    assert (told["means"], told["code"], told["exact"]) == (
        lines[3].strip()[: -len(" (out-of-memory)")],
        "out-of-memory",
        True,
    )
    assert told["frames"][-1] == {"filename": "/p/train.py", "row": 4, "function": "f"}
    assert not list(failure(Capture()))


def test_a_program_that_was_killed_was_last_seen_somewhere() -> None:
    position = ((Where("/p/train.py", 6), "<module>"), (Where("/p/train.py", 4), "f"))
    end = {"status": None, "signal": 9, "reason": "exit", "oom_kills": 1}
    start = {"memory": {"host": 16 << 30, "CPU": None}}
    capture = Capture(process={"pid": 1}, start=start, end=end, position=position, resident=[(1.0, 15 << 30)])
    lines = [line.strip() for line in failure(capture)]
    assert lines[0] == "last seen at"
    assert lines[2].endswith("train.py:4 in f")
    assert lines[3] == (
        "The kernel's out-of-memory killer ended a process during the run. It had 15 GiB of 16 GiB. (host-growth)"
    )
    capture.end["oom_kills"] = 0
    assert "Something outside killed it" in list(failure(capture))[-1]
    report = RunReport(capture, [], 4)
    assert json.loads(render("json", report, False))["run"]["failure"]["exact"] is False
    assert "last seen at" in page(report) and "last seen at" in render("text", report, False)


def test_the_stack_of_a_crash_is_exact() -> None:
    stack = (
        Frame("/lib/tf.py", 1, "run", False),
        Frame("/p/train.py", 4, "f", True),
        Frame("/p/train.py", 6, "m", True),
    )
    capture = Capture(end={"status": None, "signal": 6}, stack=stack, position=((Where("/p/train.py", 2), "old"),))
    found = failure_of(capture)
    assert found is not None and found.is_exact
    assert found.frames == ((Where("/p/train.py", 6), "m"), (Where("/p/train.py", 4), "f"))
    assert failure_of(Capture(end={"status": 0, "signal": None})) is None


def test_findings_that_were_not_reached_are_one_line_in_every_form() -> None:
    span = [Span("/p/train.py", row, 1, row, 9) for row in (30, 40)]
    findings = [Finding("GPU501", "host-sync-in-loop", Severity.WARNING, one, "a tensor is read") for one in span]
    capture = Capture(process={"pid": 1}, end={"status": 1}, error="ValueError: no", error_at=Where("/p/train.py", 4))
    report = RunReport(capture, verify(Run(capture, findings)), 4)
    told = "2 findings after the failure"
    assert render("text", report, False).count("not reached: train.py:30 GPU501, train.py:40 GPU501") == 1
    assert [
        one["observed"] for one in json.loads(render("json", report, False))["expectations"] if one["subject"] == told
    ]
    assert page(report).count("not reached: train.py:30 GPU501, train.py:40 GPU501") == 1
