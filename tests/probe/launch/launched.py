"""Programs for tests of launching, each in a separate process whose streams and signals the test controls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.reader import read

_LAUNCHER = """
import json, sys
from gpulint.probe.launch.channel import standard_error
from gpulint.probe.launch.program import run
from gpulint.probe.launch.progress import ProgressLine

options = json.loads(sys.argv[1])
progress = ProgressLine.on(standard_error()) if options.pop("progress", False) else None
ended = run(options.pop("command"), **options, progress=progress)
with open(options["capture_path"] + ".ended", "w") as file:
    json.dump(ended._asdict(), file)
"""

WAITING = """if True:
    import signal, sys, time
    def handle(number, frame):
        print("got", signal.Signals(number).name, flush=True)
        if number != signal.SIGUSR1:
            sys.exit(5)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, handle)
    print("ready", flush=True)
    while True:
        time.sleep(0.05)
"""
"""A program that says which signal it gets, and ends at all but SIGUSR1."""


class Launched:
    """A program under the probe, started. `arguments` are those of Popen for the process that launches it."""

    def __init__(self, folder: Path, source: str, *, options: dict[str, Any] | None = None, **arguments: Any) -> None:
        self.capture_path = folder / "run.jsonl"
        self.script = folder / "program.py"
        self.script.write_text(source)
        chosen = {
            "command": [sys.executable, "-u", str(self.script)],
            "capture_path": str(self.capture_path),
            **(options or {}),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCHER, json.dumps(chosen)],
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **arguments},
        )

    def finish(self, given: bytes | None = None) -> tuple[bytes, bytes]:
        """The whole output."""
        try:
            return self.process.communicate(given, timeout=300)
        finally:
            self.process.kill()

    def line(self) -> bytes:
        """The next line of its output, without waiting for more."""
        assert self.process.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(self.process.stdout.fileno(), 1) or b"\n"
        return line

    @property
    def ended(self) -> dict[str, Any]:
        """How it ended, as returned by `run`."""
        ended: dict[str, Any] = json.loads(Path(f"{self.capture_path}.ended").read_text())
        return ended

    @property
    def capture(self) -> Capture:
        return read(str(self.capture_path))


def until(condition: Callable[[], Any], seconds: float = 300.0) -> None:
    """Waits for something that happens soon."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not os.path.exists("/proc/self/stat")
