"""Captures of workers: names of devices, the common directory, and the joined capture."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpulint.probe.capture.contents import Capture, Member
from gpulint.probe.capture.device_names import localised
from gpulint.probe.capture.reader import CaptureError, read
from gpulint.probe.capture.records import Frame, Steps, Task
from gpulint.probe.cluster.folder import read_members
from gpulint.probe.cluster.joined import joined
from gpulint.probe.cluster.local import reserved_ports, visible_gpus
from gpulint.probe.cluster.worker_text import by_value, culprits, names
from gpulint.probe.launch.stacks import main_thread
from gpulint.probe.report import RunReport, page, render
from gpulint.probe.report.json import content
from tests.probe.cluster.clusters import LINE, members, worker, written

OWN, OTHER = "/job:worker/task:1/CPU:0", "/job:worker/task:0/CPU:0"
DEVICES = {"kind": "devices", "t": 1, "physical": ["CPU:0"], "logical": [OTHER, OWN], "limits": {}}
WORKER = {
    "kind": "worker",
    "t": 0,
    "job": "worker",
    "index": 1,
    "launcher": "Slurm",
    "tasks": [["worker", 0], ["worker", 1]],
}
MEMORY = {"kind": "memory", "t": 2, "phase": "build", "devices": {OWN: [1, 2]}}
END = {"kind": "end", "t": 9, "status": 0, "signal": None, "reason": "exit", "seconds": 3}


class TestDevices:
    @pytest.mark.parametrize("records", [(WORKER, DEVICES), (DEVICES, MEMORY)])
    def test_a_workers_own_devices_have_their_short_names(self, records: tuple[Any, ...], tmp_path: Path) -> None:
        written(tmp_path, "a.jsonl", *records)
        capture = read(str(tmp_path / "a.jsonl"))
        assert capture.logical == ("CPU:0", OTHER)
        assert capture.own_devices == ("CPU:0",)

    def test_without_a_cluster_nothing_changes(self) -> None:
        capture = worker(0)
        assert localised(capture) is capture

    def test_memory_of_another_workers_device_is_not_its_own(self, tmp_path: Path) -> None:
        memory = {**MEMORY, "devices": {OWN: [1, 2], OTHER: [3, 4]}}
        written(tmp_path, "a.jsonl", WORKER, DEVICES, memory)
        assert read(str(tmp_path / "a.jsonl")).memory[0].devices == {"CPU:0": (1, 2)}

    def test_together_they_have_the_names_of_the_cluster(self) -> None:
        whole = joined(members(worker(0), worker(1)))
        assert whole.logical == tuple(
            f"/job:worker/task:{index}/{kind}:0" for index in (0, 1) for kind in ("CPU", "GPU")
        )
        assert {one.device for one in whole.variables} == {f"/job:worker/task:{index}/GPU:0" for index in (0, 1)}
        (strategy,) = whole.strategies
        assert (strategy.replicas, strategy.devices) == (2, ("/job:worker/task:0/GPU:0", "/job:worker/task:1/GPU:0"))


class TestDirectory:
    def test_workers_are_those_with_a_capture_and_those_that_these_name(self, tmp_path: Path) -> None:
        written(tmp_path, "capture-worker-1.jsonl", WORKER, END)
        (tmp_path / "capture-worker-2.jsonl").write_text("")
        (tmp_path / "capture-worker-1.jsonl.stacks").write_text("Thread 0x1:\n")
        found = {one.task.name: one.capture is not None for one in read_members(str(tmp_path))}
        assert found == {"worker 0": False, "worker 1": True, "worker 2": False}

    def test_a_capture_of_an_unnumbered_process_is_the_worker_that_its_program_says(self, tmp_path: Path) -> None:
        config = '{"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": "chief", "index": 0}}'
        environment = {"kind": "environment", "t": 1, "moment": "runtime", "values": {"TF_CONFIG": config}}
        written(tmp_path, "capture-node7-4711.jsonl", environment, END)
        assert [one.task.name for one in read_members(str(tmp_path))] == ["chief 0", "worker 0"]

    def test_two_captures_of_one_worker_are_two_runs(self, tmp_path: Path) -> None:
        written(tmp_path, "capture-worker-1.jsonl", WORKER)
        written(tmp_path, "capture-node7-4711.jsonl", WORKER)
        with pytest.raises(CaptureError, match=r"are both of worker 1: use a separate directory for each run"):
            read_members(str(tmp_path))

    def test_a_file_that_is_not_a_capture_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "capture-worker-0.jsonl").write_text("hello\n")
        with pytest.raises(CaptureError, match="not a gpulint capture"):
            read_members(str(tmp_path))


class TestEnds:
    def ended(self, index: int, t: float, **end: Any) -> Member:
        told = {"status": 1, "signal": None, "reason": "exit", "t": t, **end}
        return Member(Task("worker", index), replace(worker(index), end=told))

    def test_the_first_that_failed_is_to_blame(self) -> None:
        failed = [self.ended(0, 5.0), self.ended(1, 4.0, signal=9, status=None), self.ended(2, 3.0, reason="peer")]
        assert names(one.task for one in culprits(failed)) == "worker 1"
        end = joined(failed).end
        assert (end["status"], end["signal"], end["worker"]) == (None, 9, "worker 1")

    def test_of_those_that_hang_the_ones_outside_of_tensorflow_are_to_blame(self) -> None:
        def hung(index: int, *paths: str) -> Member:
            one = self.ended(index, 5.0, reason="hang")
            assert one.capture is not None
            stack = tuple(Frame(path, 3, "f", path.endswith("train.py")) for path in paths)
            return Member(one.task, replace(one.capture, stack=stack))

        waits = hung(0, "/lib/tensorflow/python/eager/execute.py", "/p/train.py")
        sleeps = hung(1, "/p/train.py")
        assert names(one.task for one in culprits([waits, sleeps])) == "worker 1"
        assert names(one.task for one in culprits([waits, hung(1, *(one.path for one in waits.capture.stack))])) == (  # type: ignore[union-attr]
            "worker 0, 1"
        )

    def test_the_main_thread_is_the_one_that_began_first(self) -> None:
        text = (
            'Thread 0x01 (most recent call first):\n  File "/p/other.py", line 1 in g\n\n'
            "Current thread 0x02 (most recent call first):\n"
            '  File "/lib/x.py", line 2 in f\n  File "/p/a.py", line 3 in m\n'
        )
        found = main_thread(text, lambda path: path.startswith("/p/"))
        assert found == (Frame("/lib/x.py", 2, "f", False), Frame("/p/a.py", 3, "m", True))
        assert Capture(stack=found).stopped_at == ("/p/a.py", 3, None)
        assert main_thread("", bool) == ()


def test_steps_that_all_take_together_count_once() -> None:
    def stepped(index: int, taken: int) -> Capture:
        return replace(worker(index), steps={("step", LINE): Steps("step", LINE, taken, taken * 0.1, 0.2)})

    whole = joined(members(stepped(0, 10), stepped(1, 12)))
    assert [one.taken for one in whole.steps.values()] == [12]


def test_every_form_of_the_report_has_the_workers() -> None:
    capture = joined(members(worker(0), None))
    report = RunReport(capture, (), 0)
    told = content(report)["workers"]
    assert [(one["index"], one["capture"]) for one in told] == [(0, True), (1, False)]
    assert told[0]["step_seconds"] == 0.02
    assert content(RunReport(worker(0), (), 0))["workers"] is None
    text = render("text", report, False)
    assert "worker 1" in text and "left no capture" in text and "/job:" not in text
    for form in ("json", "sarif", "junit"):
        assert render(form, report, False)
    assert "left no capture" in page.render(report)


def test_workers_are_named_in_ranges() -> None:
    tasks = [Task("worker", index) for index in (0, 1, 2, 4, 5)]
    assert names([Task("chief", 0), *tasks]) == "chief 0, worker 0–2, 4, 5"
    assert by_value(dict.fromkeys(tasks, "2.21")) == "2.21"


def test_ports_are_different_and_free() -> None:
    with reserved_ports(5) as ports:
        assert len(set(ports)) == 5


@pytest.mark.parametrize(
    ("gpus", "visible", "count", "seen"),
    [
        (0, None, 2, [None, None]),
        (4, None, 2, ["0,1", "2,3"]),
        (5, None, 2, ["0,1", "2,3"]),
        (2, "3,7", 2, ["3", "7"]),
        (1, None, 2, ["-1", "-1"]),
        (2, "GPU-aa,GPU-bb", 1, ["GPU-aa,GPU-bb"]),
    ],
)
def test_workers_on_one_machine_share_its_gpus(gpus: int, visible: str | None, count: int, seen: list[Any]) -> None:
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    told = [visible_gpus(index, count, gpus, environment).get("CUDA_VISIBLE_DEVICES") for index in range(count)]
    assert told == seen


def test_counts_of_operations_are_sums_over_the_workers() -> None:
    assert joined(members(worker(0), worker(1))).operations == Counter(
        {"/job:worker/task:0/GPU:0": 10, "/job:worker/task:1/GPU:0": 10}
    )
