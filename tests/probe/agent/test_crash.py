"""Where programs were that end without an exception."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from gpulint.probe.agent.places import Places
from gpulint.probe.agent.position import Position
from gpulint.probe.agent.writer import Writer
from gpulint.probe.capture.reader import read
from gpulint.probe.capture.records import Where
from gpulint.probe.launch.command import Target, command_line
from gpulint.probe.measures.failures import failure_of
from tests.probe.launch.launched import Launched

CRASH = """import ctypes, os, sys

def inner():
    ctypes.string_at(0) if sys.argv[1] == "SIGSEGV" else os.abort()

inner()
"""


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT"])
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_crash_has_the_programs_own_lines(tmp_path: Path, name: str) -> None:
    path, script = tmp_path / "run.jsonl", str(tmp_path / "program.py")
    command = command_line(Target(script, arguments=(name,)), str(path), 0, 0, False)
    run = Launched(tmp_path, CRASH, options={"command": command})
    output = run.finish()
    assert run.ended["signal"] == getattr(signal, name)
    found = failure_of(run.capture)
    assert found is not None and found.is_exact
    assert found.frames == ((Where(script, 6), "<module>"), (Where(script, 4), "inner"))
    assert output == (b"", b"")


def test_the_last_position_of_the_main_thread_is_kept(tmp_path: Path) -> None:
    writer = Writer(str(tmp_path / "run.jsonl"))
    writer.write("process", pid=1, python="3", main="x")
    position = Position(Places())
    for _ in range(2):
        position.write(writer)  # here
    writer.close()
    capture = read(str(tmp_path / "run.jsonl"))
    where, function = capture.position[-1]
    assert function == "test_the_last_position_of_the_main_thread_is_kept"
    row = next(row for row, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "# here" in text)
    assert where == Where(__file__, row)
    assert (tmp_path / "run.jsonl").read_text().count('"position"') == 1
