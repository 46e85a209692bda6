"""Follows a capture while it is being written, reading only the bytes added since the last look."""

from __future__ import annotations

import json
import threading
from typing import Any

from gpulint.probe.agent.forks import OTHERS

_SAMPLES = frozenset(("memory", "cards", "host", "log"))
"""Records written at intervals, whether or not the program does anything."""

_ASKED = "set_log_device_placement"


class CaptureTail:
    """Follows a capture. `look` may be called from any thread; a missing file counts as empty."""

    def __init__(self, path: str) -> None:
        self.events = 0
        """Records of program activity, without those written at intervals."""
        self.steps = 0
        self.operations = 0
        """Eager operations that ran plus graph nodes."""
        self.devices: dict[str, int] = {}
        """Bytes in use by device."""
        self.resident = 0
        """Resident bytes of the program and its children."""
        self.holds_log = False
        """Whether the agent turned the placement log on, which the program did not ask for."""
        self.holds_profiler = False
        """Whether what the profiler logs about itself is the agent's doing."""
        self.pid = 0
        """The watched process, 0 before it has started."""
        self.watches = False
        """Whether the agent watches TensorFlow in it."""
        self.is_whole = False
        """Whether the agent has written its last record."""
        self.forked = False
        """Whether the agent recorded a fork."""
        self._path = path
        self._lock = threading.Lock()
        self._offset = 0

    def look(self) -> None:
        """Reads the complete lines added since the last call."""
        with self._lock:
            try:
                with open(self._path, "rb") as file:
                    file.seek(self._offset)
                    new = file.read()
            except OSError:
                return
            whole = new.rfind(b"\n") + 1
            self._offset += whole
            for line in new[:whole].splitlines():
                try:
                    self._add(json.loads(line))
                except (ValueError, KeyError, IndexError, TypeError, AttributeError):
                    continue  # torn; the reader of the whole capture counts it

    def _add(self, record: dict[str, Any]) -> None:
        kind = record["kind"]
        self.events += kind not in _SAMPLES
        if kind == "steps":
            self.steps += record["count"]
        elif kind in ("ops", "nodes"):
            self.operations += sum(row[-1] for row in record["rows"])
        elif kind == "memory":
            self.devices = {device: int(used) for device, (used, _) in record["devices"].items()}
        elif kind == "host":
            self.resident = int(record["resident"])
        elif kind == "process":
            self.pid = record["pid"]
        elif kind == "tensorflow":
            self.watches = True
        elif kind == "exit":
            self.is_whole = True
        elif kind == "lost":
            self.forked |= record["evidence"] == OTHERS
        elif kind == "call" and record["name"].rpartition(".")[2] == _ASKED and record["outcome"] == "ok":
            self.holds_log &= "False" in record["arguments"].values()
        elif kind == "logging":
            self.holds_log = True
        elif kind == "profiling":
            self.holds_profiler = record["own"]
