"""The progress line, its content, and the terminal that it shares with the program."""

from __future__ import annotations

import json
import os
import pty
import select
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpulint.probe.launch.capture_tail import CaptureTail
from gpulint.probe.launch.progress import ProgressLine, describe


def append(path: Path, *records: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps({"t": 0, **record}) + "\n" for record in records)


class TestTail:
    def test_sums_up_what_came(self, tmp_path: Path) -> None:
        path = tmp_path / "run"
        tail = CaptureTail(str(path))
        tail.look()
        assert tail.events == 0  # no file yet
        append(path, {"kind": "steps", "name": "fit", "where": None, "count": 5, "seconds": 1, "slowest": 1})
        append(path, {"kind": "ops", "rows": [[0, 1, "MatMul", "", "CPU:0", 7], [0, 2, "Add", "", "CPU:0", 1]]})
        tail.look()
        append(path, {"kind": "nodes", "rows": [[0, 1, "MatMul", "", "CPU:0", "", 2]]})
        append(path, {"kind": "steps", "name": "fit", "where": None, "count": 3, "seconds": 1, "slowest": 1})
        append(path, {"kind": "memory", "phase": "steps", "devices": {"GPU:0": [100, 200]}})
        append(path, {"kind": "host", "resident": 300})
        tail.look()
        tail.look()
        assert (tail.steps, tail.operations, tail.devices, tail.resident) == (8, 10, {"GPU:0": 100}, 300)
        assert tail.events == 4  # the two records written at intervals do not count

    def test_lines_that_are_not_whole_are_read_later(self, tmp_path: Path) -> None:
        path = tmp_path / "run"
        tail = CaptureTail(str(path))
        line = json.dumps({"kind": "host", "t": 0, "resident": 9, "device": "ü"}, ensure_ascii=False).encode() + b"\n"
        for cut in range(1, len(line)):
            with path.open("ab") as file:
                file.write(line[:cut])
                file.flush()
                tail.look()
                file.write(line[cut:])
            tail.look()
            assert tail.resident == 9
            tail.resident = 0

    @pytest.mark.parametrize("line", ["no JSON", "[]", "3", "{}", '{"kind": "steps"}', '{"kind": "host"}', ""])
    def test_other_lines_do_not_matter(self, tmp_path: Path, line: str) -> None:
        path = tmp_path / "run"
        path.write_text(line + "\n")
        append(path, {"kind": "host", "resident": 3})
        tail = CaptureTail(str(path))
        tail.look()
        assert tail.resident == 3

    @pytest.mark.parametrize(
        ("name", "enabled", "outcome", "holds"),
        [
            ("set_log_device_placement", "True", "ok", False),
            ("tf.debugging.set_log_device_placement", "True", "ok", False),
            ("set_log_device_placement", "False", "ok", True),
            ("set_log_device_placement", "True", "RuntimeError: too late", True),
            ("set_memory_growth", "True", "ok", True),
        ],
    )
    def test_the_placement_log_is_held_back_unless_the_program_asks_for_it(
        self, tmp_path: Path, name: str, enabled: str, outcome: str, holds: bool
    ) -> None:
        path = tmp_path / "run"
        tail = CaptureTail(str(path))
        assert not tail.holds_log
        append(path, {"kind": "logging", "instead_of": ["operations"]})
        tail.look()
        assert tail.holds_log
        call = {"kind": "call", "name": name, "arguments": {"enabled": enabled}, "outcome": outcome, "where": None}
        append(path, call)
        tail.look()
        assert tail.holds_log is holds


class TestDescription:
    def test_only_what_was_seen(self, tmp_path: Path) -> None:
        tail = CaptureTail(str(tmp_path / "run"))
        assert describe(tail, 5.4) == "0:05"
        tail.steps, tail.operations = 1, 12345
        assert describe(tail, 3725) == "1:02:05, 1 step, 12,345 operations"
        tail.devices, tail.resident = {"GPU:1": 3 << 30, "GPU:0": 20 << 20, "CPU:0": 0}, 512 << 20
        assert describe(tail, 60).endswith("operations, GPU:0 20 MiB, GPU:1 3 GiB, host 512 MiB")


@pytest.fixture
def terminal() -> Iterator[tuple[int, Callable[[], bytes]]]:
    """A descriptor of a terminal, and a function that returns what was shown since its last call."""
    outer, inner = pty.openpty()

    def shown() -> bytes:
        data = b""
        while select.select([outer], [], [], 0.1)[0]:
            data += os.read(outer, 65536)
        return data

    yield inner, shown
    os.close(inner)
    os.close(outer)


Terminal = tuple[int, Callable[[], bytes]]


class TestLine:
    @pytest.fixture(autouse=True)
    def xterm(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TERM", "xterm")

    def test_only_on_terminals_that_can_erase(self, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
        reading, writing = os.pipe()
        assert ProgressLine.on(writing) is None and ProgressLine.on(None) is None
        os.close(reading)
        os.close(writing)
        assert ProgressLine.on(terminal[0]) is not None
        monkeypatch.setenv("TERM", "dumb")
        assert ProgressLine.on(terminal[0]) is None

    def test_steps_aside_for_output_and_comes_back(self, terminal: Terminal, tmp_path: Path) -> None:
        descriptor, shown = terminal
        line, tail = ProgressLine(descriptor), CaptureTail(str(tmp_path / "run"))
        line.draw(tail, 1)
        assert shown() == b"\r\x1b[Kgpulint: 0:01"
        with line.aside(b"text\n"):
            os.write(descriptor, b"text\n")
        assert shown() == b"\r\x1b[Ktext\r\n"
        line.draw(tail, 2)
        assert shown() == b"\r\x1b[Kgpulint: 0:02"
        line.close()
        line.draw(tail, 3)
        assert shown() == b"\r\x1b[K"

    def test_is_not_drawn_more_often_than_one_can_read(self, terminal: Terminal, tmp_path: Path) -> None:
        line, tail = ProgressLine(terminal[0]), CaptureTail(str(tmp_path / "run"))
        for number in range(100):
            line.draw(tail, 1 + number / 1000)
        assert terminal[1]().count(b"gpulint") == 1

    @pytest.mark.parametrize("text", [b"Name: ", b"\r 50%", b"a\nb", b"\x1b[1mbold\x1b[0m"])
    def test_unfinished_lines_of_the_program_are_left_alone(
        self, terminal: Terminal, tmp_path: Path, text: bytes
    ) -> None:
        line, tail = ProgressLine(terminal[0]), CaptureTail(str(tmp_path / "run"))
        with line.aside(text):
            pass
        line.draw(tail, 1)
        assert terminal[1]() == b""
        with line.aside(b"\n"):
            pass
        line.draw(tail, 2)
        assert b"gpulint" in terminal[1]()

    @pytest.mark.parametrize("text", [b"\x1b[2A\n", b"\x1b[?1049h\n", b"\x1b[2J\n", b"\x1b[10;5H\n", b"\x1b7\n"])
    def test_programs_that_draw_have_the_terminal_for_themselves(
        self, terminal: Terminal, tmp_path: Path, text: bytes
    ) -> None:
        line, tail = ProgressLine(terminal[0]), CaptureTail(str(tmp_path / "run"))
        with line.aside(text):
            pass
        with line.aside(b"later\n"):
            pass
        line.draw(tail, 1)
        assert terminal[1]() == b""

    def test_fits_the_terminal(self, terminal: Terminal, tmp_path: Path) -> None:
        line, tail = ProgressLine(terminal[0]), CaptureTail(str(tmp_path / "run"))
        tail.devices = {f"GPU:{number}": 1 << 30 for number in range(40)}
        line.draw(tail, 1)
        assert len(terminal[1]()) <= 80 + len(b"\r\x1b[K")

    def test_does_not_wait_for_a_program_that_waits_for_the_terminal(self, terminal: Terminal, tmp_path: Path) -> None:
        line, tail = ProgressLine(terminal[0]), CaptureTail(str(tmp_path / "run"))
        with line.aside(b"much text"):
            line.draw(tail, 1)
        assert terminal[1]() == b""
