"""Summaries of placement logs by stream, also if both streams are the same."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from gpulint.probe.capture.reader import read
from gpulint.probe.capture.recorder import Recorder
from gpulint.probe.placement_log.parser import MAX_LINE
from gpulint.probe.placement_log.summary import MAX_MESSAGES, LogRecords, LogSummary, SharedSummary
from tests.probe.placement_log.logs import RECORDINGS

PLACED = b"a/b: (MatMul): /job:localhost/replica:0/task:0/device:CPU:1\n"
HEADER = b"I0000 00:00:1795224360.624055    5226 placer.cc:162] "


def without_lines(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in ("stream", "lines")}


class TestSummary:
    def test_messages_are_kept_once_and_not_without_end(self) -> None:
        summary = LogSummary("stderr")
        for number in range(200):
            summary.feed(b"OOM when allocating tensor with shape[%d,3] and type float\n" % (number // 2))
        messages = summary.records()[0]["messages"]
        assert len(messages) == MAX_MESSAGES
        assert messages[:2] == [
            "Out of memory: a tensor of shape [0, 3] and type float",
            "Out of memory: a tensor of shape [1, 3] and type float",
        ]

    def test_cards(self) -> None:
        summary = LogSummary("stderr")
        summary.feed(
            b"Created device /job:localhost/replica:0/task:0/device:GPU:0 with 10791 MB memory:  -> device: 0, "
            b"name: Tesla K80, pci bus id: 0000:86:00.0, compute capability: 3.7\n"
        )
        assert summary.records()[0]["messages"] == [
            "Created GPU:0 with 10791 MB: Tesla K80, 0000:86:00.0, compute capability 3.7"
        ]


class TestSharedSummary:
    @pytest.mark.parametrize("size", [1, 7, 4096])
    def test_both_streams_get_their_own(self, size: int) -> None:
        stream = (PLACED + HEADER + PLACED + b"the program's\n") * 50 + PLACED[:-1]
        shared = SharedSummary("stdout", "stderr")
        text = b"".join(shared.feed(stream[start : start + size]).text for start in range(0, len(stream), size))
        text += shared.close().text
        assert text.startswith(b"the program's\n" * 50)
        output, errors = shared.records()
        assert (output["stream"], errors["stream"]) == ("stdout", "stderr")
        assert output["placed"] == errors["placed"] == [("MatMul", "CPU:1", 50)]
        assert (output["lines"], errors["lines"]) == (101, 50)

    @pytest.mark.parametrize("name", sorted(RECORDINGS))
    def test_no_placement_gets_lost(self, name: str) -> None:
        alone, shared = LogSummary("both"), SharedSummary("stdout", "stderr")
        for start in range(0, len(RECORDINGS[name]), 1000):
            chunk = RECORDINGS[name][start : start + 1000]
            assert alone.feed(chunk) == shared.feed(chunk)
        assert alone.close() == shared.close()
        total, parts = alone.records()[0], shared.records()
        assert sum(part["lines"] for part in parts) == total["lines"]
        assert sum(part["placements"] for part in parts) == total["placements"]

    def test_a_line_without_end_is_not_kept(self) -> None:
        shared = SharedSummary("stdout", "stderr")
        passed_on = sum(len(shared.feed(b"x" * MAX_LINE).text) for _ in range(100))
        assert passed_on == 100 * MAX_LINE
        assert len(shared.feed(b"\n" + PLACED).records) == 1
        assert shared.records()[0]["placements"] == 1


class TestRecords:
    def test_are_written_where_there_is_news_and_time(self, tmp_path: Path) -> None:
        path = tmp_path / "run"
        recorder = Recorder(str(path))
        recorder.write("start", version=1)
        summary = LogSummary("stdout")
        records = LogRecords(summary, recorder)
        written = []
        for second in range(60):
            if second in (5, 25):
                summary.feed(PLACED)
            records.write(second)
            written.append(path.read_text().count('"log"'))
        assert [second for second, (before, now) in enumerate(itertools.pairwise(written), 1) if now > before] == [
            10,
            30,
        ]
        records.write_last()
        capture = read(str(path))
        assert capture.logs["stdout"].placed == {("MatMul", "CPU:1"): 2}
        assert path.read_text().count('"log"') == 2

    def test_long_ones_are_written_less_often(self, tmp_path: Path) -> None:
        path = tmp_path / "run"
        summary = LogSummary("stderr")
        records = LogRecords(summary, Recorder(str(path)))
        for second in range(120):
            for number in range(100):
                summary.feed(
                    HEADER
                    + b"Executing op __inference_f_%d in device /job:localhost/replica:0/task:0/device:CPU:0\n"
                    % (second * 100 + number)
                )
            records.write(second)
        assert path.stat().st_size < 120 * 10_000
