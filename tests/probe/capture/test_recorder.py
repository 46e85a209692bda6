"""Appending to a capture."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gpulint.probe.capture.reader import read
from gpulint.probe.capture.recorder import Recorder


class TestRecorder:
    def test_records_are_lines_with_their_time(self, tmp_path: Path) -> None:
        recorder = Recorder(str(tmp_path / "run"))
        recorder.write("start", version=1, directory="Möbel\u2028")
        recorder.write("host", resident=7)
        recorder.close()
        lines = (tmp_path / "run").read_bytes().split(b"\n")
        assert len(lines) == 3 and lines[-1] == b""
        first = json.loads(lines[0])
        assert first["kind"] == "start" and first["directory"] == "Möbel\u2028" and first["t"] > 1e9
        assert recorder.error == "" and recorder.written == (tmp_path / "run").stat().st_size

    def test_names_of_files_that_are_no_text_come_back(self, tmp_path: Path) -> None:
        name = os.fsdecode(b"r\xe9sum\xe9.py")
        recorder = Recorder(str(tmp_path / "run"))
        recorder.write("start", version=1, command=[name])
        assert read(str(tmp_path / "run")).start["command"] == [name]

    def test_what_json_does_not_know_becomes_a_text(self, tmp_path: Path) -> None:
        recorder = Recorder(str(tmp_path / "run"))
        recorder.write("start", version=1, directory=Path("here"))
        assert read(str(tmp_path / "run")).start["directory"] == "here"

    def test_appends_unless_it_is_to_start_again(self, tmp_path: Path) -> None:
        path = str(tmp_path / "run")
        for resident, fresh in ((1, True), (2, False), (3, True), (4, False)):
            recorder = Recorder(path, fresh=fresh)
            recorder.write("start", version=1)
            recorder.write("host", resident=resident)
            recorder.close()
        assert [resident for _, resident in read(path).resident] == [3, 4]

    def test_threads_and_processes_do_not_get_into_each_others_lines(self, tmp_path: Path) -> None:
        path = str(tmp_path / "run")
        Recorder(path).write("start", version=1)
        program = (
            "import sys; from gpulint.probe.capture.recorder import Recorder; recorder = Recorder(sys.argv[1])\n"
            "for number in range(500): recorder.write('host', resident=1, padding='x' * (number * 7 % 3000))"
        )
        others = [subprocess.Popen([sys.executable, "-c", program, path]) for _ in range(2)]
        recorder = Recorder(path)
        threads = [
            threading.Thread(target=lambda: [recorder.write("host", resident=1, padding="y" * n) for n in range(500)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [other.wait(60) for other in others] == [0, 0]
        capture = read(path)
        assert capture.torn == 0 and len(capture.resident) == 3000

    def test_a_file_that_cannot_be_written_is_reported_and_nothing_raised(self, tmp_path: Path) -> None:
        recorder = Recorder(str(tmp_path / "nowhere" / "run"))
        recorder.write("host", resident=1)
        recorder.close()
        assert recorder.error == f"{tmp_path / 'nowhere' / 'run'}: No such file or directory"

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
    def test_a_full_disk_is_reported_once(self) -> None:
        recorder = Recorder("/dev/full")
        for number in range(3):
            recorder.write("host", resident=number)
        assert recorder.error == "/dev/full: No space left on device" and recorder.written == 0

    def test_a_line_that_the_disk_cut_off_does_not_take_the_next_one_with_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = str(tmp_path / "run")
        recorder = Recorder(path)
        recorder.write("start", version=1)
        write = os.write
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:9]))
            recorder.write("host", resident=1)
        recorder.write("host", resident=2)
        capture = read(path)
        assert [resident for _, resident in capture.resident] == [2] and capture.torn == 1
        assert recorder.error == f"{path}: the disk is full"
