"""Captures can be read, however the run that wrote them ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpulint.probe.capture.evidence import STATES, STEP_READS
from gpulint.probe.capture.reader import CaptureError, read
from gpulint.probe.capture.records import Copy, Data, Execution, Function, ModelCall, Node, ReplicaRun, Wait, Where
from gpulint.probe.checks.needs import lost_for

START = {"kind": "start", "t": 1.0, "version": 1, "command": ["python", "a.py"]}
RECORDS: list[dict[str, Any]] = [
    START,
    {"kind": "process", "t": 1.1, "pid": 7, "python": "3.11.7", "main": "a.py"},
    {"kind": "file", "t": 1.2, "id": 0, "path": "/p/a.py"},
    {"kind": "devices", "t": 1.3, "physical": ["CPU:0"], "logical": ["CPU:0", "CPU:1"]},
    {"kind": "ops", "t": 2.0, "rows": [[0, 3, "MatMul", "CPU:1", "CPU:1", 2], [None, 0, "Add", "", "CPU:0", 1]]},
    {"kind": "ops", "t": 3.0, "rows": [[0, 3, "MatMul", "CPU:1", "CPU:1", 5]]},
    {"kind": "nodes", "t": 3.0, "rows": [[0, 4, "Mul", "", "CPU:0", "dense", 1]]},
    {"kind": "copies", "t": 3.0, "rows": [["_Send", "CPU:0", "CPU:1", 4]]},
    {"kind": "function", "t": 3.0, "name": "f", "where": ["/p/a.py", 4], "traces": 1, "jit": False, "device": "CPU:0"},
    {"kind": "function", "t": 4.0, "name": "f", "where": ["/p/a.py", 4], "traces": 9, "jit": False, "device": "CPU:0"},
    {"kind": "steps", "t": 4.0, "name": "f", "where": ["/p/a.py", 4], "count": 3, "seconds": 0.5, "slowest": 0.3},
    {"kind": "steps", "t": 5.0, "name": "f", "where": ["/p/a.py", 4], "count": 2, "seconds": 0.5, "slowest": 0.1},
    {"kind": "exit", "t": 6.0, "error": None},
    {"kind": "end", "t": 6.1, "status": 0, "signal": None, "reason": "exit", "seconds": 5.1},
]


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    return str(path)


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_counts_are_added_up(tmp_path: Path) -> None:
    capture = read(written(tmp_path, lines(RECORDS)))
    assert capture.executions[Execution(Where("/p/a.py", 3), "MatMul", "CPU:1", "CPU:1")] == 7
    assert capture.executions[Execution(None, "Add", "", "CPU:0")] == 1
    assert capture.nodes[Node(Where("/p/a.py", 4), "Mul", "", "CPU:0", "dense")] == 1
    assert capture.copies[Copy("_Send", "CPU:0", "CPU:1")] == 4
    (steps,) = capture.steps.values()
    assert (steps.taken, steps.seconds, steps.slowest) == (5, 1.0, 0.3)


def test_a_file_of_tensorflow_is_no_place_of_the_program(tmp_path: Path) -> None:
    path = "/opt/packages/tensorflow/python/eager/execute.py"
    records: list[dict[str, Any]] = [
        START,
        {"kind": "file", "t": 1.2, "id": 0, "path": path},
        {"kind": "ops", "t": 2.0, "rows": [[0, 126, "MatMul", "", "GPU:0", 2]]},
        {"kind": "steps", "t": 4.0, "name": "f", "where": [path, 126], "count": 3, "seconds": 0.5, "slowest": 0.3},
    ]
    capture = read(written(tmp_path, lines(records)))
    assert capture.executions == {Execution(None, "MatMul", "", "GPU:0"): 2}
    assert [one.where for one in capture.steps.values()] == [None]


def test_what_has_a_time_is_on_the_timeline(tmp_path: Path) -> None:
    function = {"name": "f", "where": None, "jit": False, "device": "CPU:0"}
    steps = {"kind": "steps", "name": "f", "where": None, "slowest": 0.3}
    records: list[dict[str, Any]] = [
        START,
        {"kind": "phase", "t": 2.0, "name": "build"},
        {"kind": "call", "t": 3.0, "name": "c", "arguments": {}, "outcome": "ok", "where": None, "seconds": 0.5},
        {"kind": "function", "t": 4.0, **function, "traces": 2, "at": [3.5, 3.75]},
        {"kind": "function", "t": 5.0, **function, "traces": 3, "at": [4.5]},
        {**steps, "t": 6.0, "count": 5, "seconds": 1.0, "ended": 5.9, "each": [[5.1, 0.2], [5.3, 0.3]]},
        {"kind": "copies", "t": 7.0, "rows": [["_Send", "CPU:0", "CPU:1", 4]]},
    ]
    capture = read(written(tmp_path, lines(records)))
    assert capture.phases == [(2.0, "build")]
    assert [(one.t, type(one.what).__name__, one.number, one.seconds) for one in capture.timeline] == [
        (3.0, "Call", 1, 0.5),
        (3.5, "Function", 1, 0.0),
        (3.75, "Function", 1, 0.0),
        (4.5, "Function", 1, 0.0),
        (5.1, "Steps", 1, 0.2),
        (5.3, "Steps", 1, 0.3),
        (5.9, "Steps", 3, 0.5),
        (7.0, "Copy", 4, 0.0),
    ]


def test_early_captures_have_a_timeline_without_lengths(tmp_path: Path) -> None:
    capture = read(written(tmp_path, lines(RECORDS)))
    assert [(one.t, one.number) for one in capture.timeline] == [(3.0, 4), (4.0, 3), (5.0, 2)]
    assert list(capture.functions.values()) == [Function("f", Where("/p/a.py", 4), 9, False, "CPU:0")]
    assert capture.logical == ("CPU:0", "CPU:1")
    assert capture.seconds == 5.1


def test_steps_without_their_time_are_evidence_that_is_missing(tmp_path: Path) -> None:
    """Nothing passes because an early gpulint did not look."""
    capture = read(written(tmp_path, lines(RECORDS)))
    assert [what for what, _ in capture.lost] == [STATES, STEP_READS]
    assert lost_for("host-reads", capture) == "not seen: reads after each step (the capture has no record of it)"
    untrained: list[dict[str, Any]] = [one for one in RECORDS if one["kind"] != "steps"]
    assert not read(written(tmp_path, lines(untrained))).lost


def test_a_capture_that_was_cut_anywhere_is_read(tmp_path: Path) -> None:
    text = lines(RECORDS)
    for end in range(len(lines(RECORDS[:1])), len(text)):
        capture = read(written(tmp_path, text[:end]))
        assert capture.torn <= 1
        assert capture.start["command"] == ["python", "a.py"]


def test_lines_that_say_nothing_are_counted_or_left_out(tmp_path: Path) -> None:
    odd = [START, {"kind": "ops", "rows": [[9, 3, "A", "", "", 1]]}, {"kind": "new", "t": 1}]
    capture = read(written(tmp_path, lines(odd) + "nonsense\n[]\n"))
    assert capture.torn == 3
    assert not capture.executions


@pytest.mark.parametrize("text", ["", "hello\n", "{}\n", '{"kind": "ops", "rows": []}\n'])
def test_a_file_that_is_not_a_capture_is_refused(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(CaptureError, match=r"run\.jsonl: not a gpulint capture"):
        read(path)


def test_a_later_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="newer gpulint"):
        read(written(tmp_path, lines([{**START, "version": 99}])))


def test_lists_beside_rows_belong_to_them(tmp_path: Path) -> None:
    more: list[dict[str, Any]] = [
        START,
        {"kind": "file", "t": 1.0, "id": 0, "path": "/p/a.py"},
        {"kind": "ops", "t": 2.0, "rows": [[0, 3, "MatMul", "", "CPU:0", 2]], "dtypes": ["float32"]},
        {
            "kind": "nodes",
            "t": 2.0,
            "rows": [[0, 4, "Mul", "", "CPU:0", "dense", 1]],
            "dtypes": ["float16"],
            "parts": ["step"],
            "replicas": [1],
        },
        {
            "kind": "copies",
            "t": 2.0,
            "rows": [["_Send", "CPU:0", "CPU:1", 4]],
            "at": [[0, 5, "AddV2", "CPU:1", 256, True, False]],
        },
    ]
    capture = read(written(tmp_path, lines(more)))
    assert capture.executions == {Execution(Where("/p/a.py", 3), "MatMul", "", "CPU:0", "float32"): 2}
    assert capture.nodes == {Node(Where("/p/a.py", 4), "Mul", "", "CPU:0", "dense", "float16", "step", 1): 1}
    assert capture.copies == {Copy("_Send", "CPU:0", "CPU:1", Where("/p/a.py", 5), "AddV2", "CPU:1", 256, True): 4}
    assert capture.torn == 0


def test_a_list_beside_rows_that_is_too_short_is_a_torn_record(tmp_path: Path) -> None:
    rows = [[None, 0, "MatMul", "", "CPU:0", 2], [None, 0, "Add", "", "CPU:0", 2]]
    capture = read(written(tmp_path, lines([START, {"kind": "ops", "t": 2.0, "rows": rows, "dtypes": ["float32"]}])))
    assert capture.torn == 1


def test_steps_after_many_operations_are_counted_apart(tmp_path: Path) -> None:
    steps = {"kind": "steps", "t": 2.0, "name": "f", "where": None, "count": 3, "seconds": 0.5, "slowest": 0.3}
    capture = read(written(tmp_path, lines([START, steps, {**steps, "busy": [2, 90]}, {**steps, "busy": [1, 40]}])))
    (found,) = capture.steps.values()
    assert (found.taken, found.busy, found.operations) == (9, 3, 130)


def test_sums_over_a_loop_go_on_in_later_records(tmp_path: Path) -> None:
    waited = {"kind": "input", "t": 2.0, "rows": [[None, 0, 10, 0.5, 2.0, 10]]}
    called = {"kind": "models", "t": 2.0, "rows": [[None, 0, "predict", 3, 0.25]]}
    given = {"kind": "runs", "t": 2.0, "rows": [[None, 0, "step", 2, False, False, True, False, 16, 5]]}
    fed = {"kind": "data", "t": 2.0, "rows": [[None, 0, "PyDataset", 2, 0, 1]]}
    capture = read(written(tmp_path, lines([START, waited, waited, called, called, given, given, fed, fed])))
    assert capture.data == {Data(None, "PyDataset", 2, 0): 2}
    assert capture.waits == {None: Wait(20, 1.0, 4.0, 20)}
    assert capture.model_calls == {ModelCall(None, "predict"): (6, 0.5)}
    assert capture.runs == {ReplicaRun(None, "step", 2, False, False, True, False, 16): 10}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("CollectiveAllReduceStrategy", "MultiWorkerMirroredStrategy"),
        ("ParameterServerStrategyV2", "ParameterServerStrategy"),
        ("MirroredStrategy", "MirroredStrategy"),
        ("OurStrategy", "OurStrategy"),
    ],
)
def test_a_strategy_has_the_name_that_programs_write(tmp_path: Path, name: str, shown: str) -> None:
    strategy = {
        "kind": "strategy",
        "t": 1.2,
        "id": 1,
        "class": name,
        "devices": ["GPU:0"],
        "replicas": 2,
        "where": None,
    }
    records = "".join(json.dumps(record) + "\n" for record in (START, strategy))
    (one,) = read(written(tmp_path, records)).strategies
    assert one.cls == shown
