"""A run as a log directory, read by TensorBoard's own reader."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.reader import read as capture_in
from gpulint.probe.capture.records import Happened, Sample, Segment, Steps, TakenStep
from gpulint.probe.expectations.expectation import Expectation, Level, Status
from gpulint.probe.report import RunReport
from gpulint.probe.report.tensorboard import check_directory, write
from tests import warm
from tests.cli.test_probe import probe
from tests.probe.report.test_trace import TRAINED, ran

pytest.importorskip("tensorboard", reason="needs gpulint[tensorboard]")

BROKEN = Expectation(
    "memory",
    Status.FAIL,
    Level.ERROR,
    "a|b",
    "<= 1",
    "<script>\n`2`",
    "GPU301",
    None,
    ("first", "second"),
    "use \\less",
)


@pytest.fixture(scope="module", autouse=True)
def without_tensorflow() -> Iterator[None]:
    """TensorBoard reads logs by itself, as where TensorFlow is not installed: importing it would take seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "tensorboard.compat.notf", ModuleType("tensorboard.compat.notf"))
        yield


def read(directory: Path) -> dict[str, list[tuple[float, int, Any]]]:
    """Tag → (time, step, value) of its points."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    accumulator = EventAccumulator(str(directory), size_guidance={"tensors": 0})
    accumulator.Reload()
    return {
        tag: [(one.wall_time, one.step, make_ndarray(one.tensor_proto).item()) for one in accumulator.Tensors(tag)]
        for tag in accumulator.Tags()["tensors"]
    }


def plugin_of(directory: Path, tag: str) -> str:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(directory))
    accumulator.Reload()
    return str(accumulator.SummaryMetadata(tag).plugin_data.plugin_name)


def test_scalars_have_the_training_step_and_the_time(tmp_path: Path) -> None:
    write(str(tmp_path), RunReport(ran(), [], 0))
    seen = read(tmp_path)
    assert seen["memory/GPU:0/in use"] == [(101.0, 0, 0), (102.0, 0, 1), (103.0, 0, 2), (104.0, 1, 3)]
    assert seen["memory/host/resident"][-1] == (110.0, 6, 2 << 30)
    assert seen["utilisation/card 0000:80:00.0 busy/busy"] == [(105.0, 2, 50)]
    assert seen["step time/step"] == [(105.0, 2, 1.0), (106.0, 3, 1.0), (110.0, 6, 1.0)]
    assert seen["run/ops.on_gpu"] == [(120.0, 6, 1.0)]
    assert plugin_of(tmp_path, "memory/GPU:0/in use") == "scalars"


def test_the_parts_of_steps_are_scalars(tmp_path: Path) -> None:
    steps = [TakenStep(105.0 + n, {"input": 0.25, "launch": 0.75}, 0) for n in range(2)]
    segments = [Segment(0, 104.0, 106.0, 2, {"input": 0.5, "launch": 1.5}, 0, ())]
    write(str(tmp_path), RunReport.of(ran(steps_taken=steps, segments=segments), [], 0))
    seen = read(tmp_path)
    assert seen["time of a step/input"] == [(105.0, 2, 0.25), (106.0, 3, 0.25)]
    assert seen["time of a step/launch"] == [(105.0, 2, 0.75), (106.0, 3, 0.75)]


def test_the_verdict_and_the_expectations_are_texts(tmp_path: Path) -> None:
    write(str(tmp_path), RunReport(ran(), [BROKEN], 1))
    seen = read(tmp_path)
    ((_, _, verdict),) = seen["gpulint/verdict"]
    assert verdict.decode().startswith("**1 fail; the program ended with status 1**\n\n* TensorFlow 2.21.0 on CPU:0")
    ((_, _, table),) = seen["gpulint/expectations"]
    assert table.decode().splitlines() == [
        "|  | expectation | expected | observed | where | evidence | fix |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| fail | GPU301 a\\|b | &lt;= 1 | &lt;script> `2` |  | first; second | use \\\\less |",
    ]
    assert plugin_of(tmp_path, "gpulint/verdict") == "text"


def test_tensorboard_shows_the_table_as_one(tmp_path: Path) -> None:
    """As TensorBoard's text plugin renders Markdown."""
    from tensorboard.plugin_util import markdown_to_safe_html

    write(str(tmp_path), RunReport(ran(), [BROKEN], 1))
    html = markdown_to_safe_html(read(tmp_path)["gpulint/expectations"][0][2])
    assert html.count("<tr>") == 2
    assert html.count("<td>") == 7
    for cell in ("GPU301 a|b", "&lt;= 1", "&lt;script&gt; <code>2</code>", "use \\less"):
        assert f"<td>{cell}</td>" in html


def test_a_simulation_is_labelled_and_has_no_times_of_steps(tmp_path: Path) -> None:
    write(str(tmp_path), RunReport(ran(simulated=2), [], 0))
    seen = read(tmp_path)
    assert all(tag.startswith("simulated/") for tag in seen)
    assert not [tag for tag in seen if "step time" in tag or "step.mean" in tag]
    assert "simulated/memory/GPU:0/in use (estimate)" in seen
    assert "SIMULATED GPUs" in seen["simulated/gpulint/verdict"][0][2].decode()


def test_other_runs_stay_and_a_replay_takes_its_own_place(tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.1.mine").write_bytes(b"")
    first, second = RunReport(ran(), [], 0), RunReport(ran(), [BROKEN], 1)
    second.capture.process["pid"] = 8
    for report in (first, second, first):
        write(str(tmp_path), report)
    assert sorted(os.listdir(tmp_path)) == [
        "events.out.tfevents.1.mine",
        "events.out.tfevents.100.7.gpulint",
        "events.out.tfevents.100.8.gpulint",
    ]


def test_placement_logs_do_not_take_each_others_place(tmp_path: Path) -> None:
    for report in (RunReport(Capture(), [], 0), RunReport(Capture(), [BROKEN], 1)):
        write(str(tmp_path), report)
    assert len(os.listdir(tmp_path)) == 2


def test_a_run_of_which_nothing_is_known_has_a_verdict(tmp_path: Path) -> None:
    write(str(tmp_path / "made" / "for it"), RunReport(Capture(), [], 0))
    assert read(tmp_path / "made" / "for it")["gpulint/verdict"][0][2] == b"**nothing to check**\n"


def test_many_steps_and_samples_are_all_there(tmp_path: Path) -> None:
    step = Steps("step", None, 0, 0.0, 0.0)
    capture = Capture(
        start={"t": 0.0},
        timeline=[Happened(1.0 + t, step, 1, 0.5) for t in range(12_000)],
        memory=[Sample(1.0 + t, "steps", {"GPU:0": (t, t)}) for t in range(12_000)],
    )
    write(str(tmp_path), RunReport(capture, [], 0))
    seen = read(tmp_path)
    assert len(seen["step time/step"]) == len(seen["memory/GPU:0/in use"]) == 12_000
    assert seen["memory/GPU:0/in use"][-1] == (12_000.0, 12_000, 11_999)


@pytest.mark.parametrize(
    ("path", "kind"),
    [("file", NotADirectoryError), ("file/logs", NotADirectoryError), ("none/logs", None), (".", None)],
)
def test_a_log_directory_is_checked_before_the_run(path: str, kind: type[OSError] | None, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    before = sorted(tmp_path.iterdir())
    if kind is None:
        check_directory(str(tmp_path / path))
    else:
        with pytest.raises(kind):
            check_directory(str(tmp_path / path))
    assert sorted(tmp_path.iterdir()) == before


def test_it_is_written_without_tensorflow(tmp_path: Path) -> None:
    text = (
        "import sys\n"
        "from tests.probe.report.test_trace import ran\n"
        "from gpulint.probe.report import RunReport, tensorboard\n"
        f"tensorboard.write({str(tmp_path / 'logs')!r}, RunReport(ran(), [], 0))\n"
        "print(sorted({'tensorflow', 'grpc'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.tensorflow
def test_a_run_is_profiled_and_read_back(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINED)
    done = probe(tmp_path, "--tensorboard", "logs", "--profile-steps", "5", "--capture", "run.jsonl", "train.py")
    assert done.returncode == 0, done.stderr
    assert "profiler" not in done.stderr.lower()
    window = capture_in(str(tmp_path / "run.jsonl")).window
    assert window is not None
    assert (window.steps, window.devices) == (5, ())
    assert 0 < window.seconds < 2
    assert not list(tmp_path.glob("run.jsonl.*"))
    seen = read(tmp_path / "logs")
    assert [step for _, step, _ in seen["step time/step"]] == list(range(2, 41))
    assert seen["run/steps"][0][2] == 40
    assert seen["run/ops.on_cpu"][0][2] == 1
    (profile,) = (tmp_path / "logs").glob("plugins/profile/*/*.xplane.pb")
    text = (
        "import sys\n"
        "from tensorflow.tsl.profiler.protobuf import xplane_pb2\n"
        "space = xplane_pb2.XSpace.FromString(open(sys.argv[1], 'rb').read())\n"
        "names = [plane.event_metadata[event.metadata_id].name for plane in space.planes\n"
        "         for line in plane.lines for event in line.events]\n"
        "print(sum(name.startswith('gradient_tape/MatMul/MatMul:') for name in names))\n"
        "for plane in space.planes:\n"
        "    stats = {key: one.name for key, one in plane.stat_metadata.items()}\n"
        "    for line in plane.lines:\n"
        "        for event in line.events:\n"
        "            if plane.event_metadata[event.metadata_id].name == 'train':\n"
        "                told = {stats[one.metadata_id]: one.int64_value or one.uint64_value for one in event.stats}\n"
        "                print(told['step_num'], told['_r'])\n"
    )
    asked = warm.python().run([sys.executable, "-c", text, str(profile)], cwd=tmp_path)
    assert asked.returncode == 0, asked.stderr
    gradients, *marks = asked.stdout.split("\n")
    assert int(gradients) == 5
    assert [mark for mark in marks if mark] == [f"{step} 1" for step in range(4, 9)]


OWN_PROFILE = (
    TRAINED + "    tf.profiler.experimental.start('mine') if size == 16 else None\ntf.profiler.experimental.stop()\n"
)


@pytest.mark.tensorflow
def test_a_program_that_profiles_itself_has_precedence(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(OWN_PROFILE)
    done = probe(tmp_path, "--tensorboard", "logs", "--profile-steps", "30", "train.py")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "mine").glob("plugins/profile/*/*.xplane.pb"))) == 1
    assert len(list((tmp_path / "logs").glob("plugins/profile/*/*.xplane.pb"))) == 1


@pytest.mark.tensorflow
def test_without_a_training_step_there_is_no_profile(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import tensorflow as tf\nprint(float(tf.add(1.0, 2.0)))\n")
    done = probe(tmp_path, "--tensorboard", "logs", "a.py")
    assert done.stdout.startswith("3.0\n")
    assert "gpulint: no profile was written: there was no training step after the warm-up" in done.stderr
    assert not (tmp_path / "logs" / "plugins").exists()
    assert read(tmp_path / "logs")["run/steps"][0][2] == 0
