"""A program that is launched on a terminal stays on one."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import termios
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.probe.launch.launched import WAITING, Launched, until


class Screen:
    """A terminal whose content a test reads."""

    def __init__(self, rows: int, columns: int) -> None:
        self.outer, self.inner = pty.openpty()
        self.resize(rows, columns)
        self.shown = b""
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.outer, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _look(self) -> None:
        while True:
            try:
                data = os.read(self.outer, 65536)
            except OSError:
                return
            if not data:
                return
            self.shown += data

    def type(self, keys: bytes) -> None:
        os.write(self.outer, keys)

    def end(self) -> bytes:
        os.close(self.inner)
        self._thread.join(30)
        os.close(self.outer)
        return self.shown


@pytest.fixture
def screen() -> Screen:
    return Screen(33, 77)


def controlling() -> None:
    """Make the terminal that receives keys the standard input."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a background job of a script ignores it
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class TestTerminal:
    def launch(self, folder: Path, source: str, screen: Screen, **options: Any) -> Launched:
        streams = {"stdin": screen.inner, "stdout": screen.inner, "stderr": screen.inner}
        return Launched(folder, source, options=options, preexec_fn=controlling, **streams)

    def test_the_program_is_on_a_terminal_of_the_same_size(self, tmp_path: Path, screen: Screen) -> None:
        source = """if True:
            import os
            print([os.isatty(descriptor) for descriptor in range(3)], tuple(os.get_terminal_size()))
            print(os.get_terminal_size(2) == os.get_terminal_size(1), os.tcgetpgrp(0) == os.getpgrp())
        """
        launched = self.launch(tmp_path, source, screen)
        launched.finish()
        assert screen.end() == b"[True, True, True] (77, 33)\r\nTrue True\r\n"

    def test_bytes_are_those_without_us(self, tmp_path: Path, screen: Screen) -> None:
        given = bytes(number for number in range(256) if number != 10) * 40 + b"\ttab\r\nend"
        self.launch(tmp_path, f"import os; os.write(1, {given!r})", screen).finish()
        assert screen.end() == given.replace(b"\n", b"\r\n")

    def test_only_what_was_a_terminal_is_one(self, tmp_path: Path, screen: Screen) -> None:
        source = "import os, sys; print(os.isatty(1)); print(os.isatty(2), file=sys.stderr)"
        output, _ = Launched(tmp_path, source, stderr=screen.inner).finish()
        assert output == b"False\n" and screen.end() == b"True\r\n"

    def test_what_is_printed_stays_in_order(self, tmp_path: Path, screen: Screen) -> None:
        source = "import sys\nfor n in range(2000): sys.stdout.write(f'o{n} '); sys.stderr.write(f'e{n}\\n')"
        self.launch(tmp_path, source, screen).finish()
        assert screen.end() == b"".join(b"o%d e%d\r\n" % (n, n) for n in range(2000))

    def test_new_sizes_are_passed_on(self, tmp_path: Path, screen: Screen) -> None:
        source = """if True:
            import os, signal, time
            size = []
            signal.signal(signal.SIGWINCH, lambda number, frame: print(tuple(os.get_terminal_size(1)), flush=True))
            print("ready", flush=True)
            end = time.time() + 20
            while time.time() < end and os.get_terminal_size(1).columns != 99:
                time.sleep(0.05)
            time.sleep(0.5)
        """
        launched = self.launch(tmp_path, source, screen)
        until(lambda: b"ready" in screen.shown)
        screen.resize(44, 99)
        launched.finish()
        assert b"(99, 44)" in screen.end()

    def test_control_c_reaches_the_program_once(self, tmp_path: Path, screen: Screen) -> None:
        launched = self.launch(tmp_path, WAITING, screen)
        until(lambda: b"ready" in screen.shown)
        screen.type(b"\x03")
        launched.finish()
        assert screen.end().count(b"got SIGINT") == 1
        assert (launched.ended["status"], launched.ended["reason"]) == (5, "interrupt")
        assert launched.capture.end["reason"] == "interrupt"

    def test_keys_reach_the_program(self, tmp_path: Path, screen: Screen) -> None:
        launched = self.launch(tmp_path, "print(input('Name: ')[::-1])", screen)
        until(lambda: b"Name: " in screen.shown)
        screen.type(b"Ada\n")
        launched.finish()
        assert screen.end() == b"Name: Ada\r\nadA\r\n"

    def test_progress_leaves_the_output_alone(self, tmp_path: Path, screen: Screen) -> None:
        source = """if True:
            import sys, time
            for number in range(12):
                print("line", number)
                time.sleep(0.1)
            for number in range(8):
                print("\\r%d%%" % number, end="", file=sys.stderr)
                time.sleep(0.1)
        """
        os.environ.setdefault("TERM", "xterm")
        self.launch(tmp_path, source, screen, progress=True).finish()
        shown = screen.end()
        assert b"gpulint: 0:0" in shown
        drawn = shown.split(b"\r\x1b[K")
        kept = b"".join(part for part in drawn if not part.startswith(b"gpulint: "))
        assert kept == b"".join(b"line %d\r\n" % n for n in range(12)) + b"".join(b"\r%d%%" % n for n in range(8))
