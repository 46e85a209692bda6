"""From a program's trace to the record in its capture."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gpulint.probe.capture.reader import read
from gpulint.probe.capture.recorder import Recorder
from gpulint.probe.launch.window import record_window
from gpulint.probe.measures.window import why_unknown
from gpulint.probe.tracing.handover import directory_of, leave
from tests.probe.tracing.traces import Planes, moment

pytestmark = pytest.mark.skipif(find_spec("tensorflow") is None, reason="needs TensorFlow's definition of a trace")

WINDOW = {"began": moment(0), "ended": moment(1000), "steps": 2, "spans": [], "places": {"dense/MatMul": [0, 7]}}


class Left:
    """A capture with a trace beside it."""

    def __init__(self, folder: Path, content: bytes | None, window: dict[str, Any]) -> None:
        self.path = folder / "run.jsonl"
        self.traces = folder / "run.jsonl.trace"
        self.recorder = Recorder(str(self.path), fresh=True)
        self.recorder.write("start", version=1, command=["python", "train.py"])
        self.recorder.write("file", id=0, path="train.py")
        assert str(self.traces) == directory_of(str(self.path))
        at = self.traces / "plugins" / "profile" / "2026_11_26_20_09_28"
        at.mkdir(parents=True)
        if content is not None:
            (at / "vm.xplane.pb").write_bytes(content)
        leave(str(self.traces), window)

    def recorded(self, to: Path | None = None) -> None:
        record_window(self.recorder, str(self.path), to=str(to or ""))
        self.recorder.close()
        assert not self.traces.exists()


def traced() -> bytes:
    planes = Planes()
    planes.kernel("GPU:0", 100, 250, op="model/dense/MatMul:MatMul")
    content: bytes = planes.space.SerializeToString()
    return content


def test_a_trace_becomes_a_record_and_is_deleted(tmp_path: Path) -> None:
    left = Left(tmp_path, traced(), WINDOW)
    left.recorded()
    window = read(str(left.path)).window
    assert window is not None
    assert window.devices[0].busy == pytest.approx(250e-6, abs=1e-6)
    assert [(one.where, one.number) for one in window.lines] == [(("train.py", 7, None), 1)]


def test_a_trace_that_is_wanted_is_moved(tmp_path: Path) -> None:
    left = Left(tmp_path, traced(), WINDOW)
    left.recorded(tmp_path / "logs")
    assert [path.read_bytes() for path in (tmp_path / "logs").glob("plugins/profile/*/*.xplane.pb")] == [traced()]
    assert [path.name for path in (tmp_path / "logs").iterdir()] == ["plugins"]


@pytest.mark.parametrize(
    ("content", "window", "reason"),
    [
        (None, WINDOW, "TensorFlow's profiler wrote no trace"),
        (b"\xff" * 9, WINDOW, "the trace is damaged"),
        (b"", WINDOW, "the trace does not say when it began"),
        (traced, {"began": 0.0}, "window.json: KeyError: 'ended'"),
    ],
)
def test_what_cannot_be_read_is_reported_once(
    content: Any, window: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    left = Left(tmp_path, content() if callable(content) else content, window)
    left.recorded()
    capture = read(str(left.path))
    assert capture.window is None
    ((evidence, told),) = capture.lost
    assert (evidence, told[: len(reason)]) == ("profile", reason)
    assert capture.faults == []


def test_what_the_profiler_misses_is_evidence_that_is_lost(tmp_path: Path) -> None:
    planes = Planes()
    planes.space.errors.append("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")
    left = Left(tmp_path, planes.space.SerializeToString(), WINDOW)
    left.recorded()
    capture = replace(read(str(left.path)), physical=("GPU:0",), visible=("GPU:0",))
    assert capture.lost == [("profile", "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")]
    assert why_unknown(capture) == "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"


def test_without_a_trace_nothing_is_recorded(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path / "run.jsonl"), fresh=True)
    record_window(recorder, str(tmp_path / "run.jsonl"))
    assert (tmp_path / "run.jsonl").read_text() == ""
