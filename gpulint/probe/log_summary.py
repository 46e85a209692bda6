"""What the placement log of one stream says in sum, as the record of a capture."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from gpulint.probe.placement_log import Parsed, PlacementLogParser
from gpulint.probe.placement_records import Created, Hint, OutOfMemory, Record
from gpulint.probe.placements import Placements, short_device
from gpulint.probe.recorder import Recorder

MAX_MESSAGES = 50
"""A program that runs out of memory at every step says so at every step."""

_INTERVAL = 10.0
"""Seconds between two records of one stream."""

_RATE = 5_000
"""Bytes a second that they may come to: where they are long, they are written less often."""


class LogSummary:
    """Sums up what a parser reads. One thread reads while another asks for the record."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._parser = PlacementLogParser()
        self._placements = Placements()
        self._messages: dict[str, None] = {}
        self._lock = threading.Lock()

    @property
    def pending(self) -> bytes:
        """What the parser holds back."""
        return self._parser.pending

    def flush(self) -> bytes:
        """Gives up holding back."""
        with self._lock:
            return self._parser.flush()

    def feed(self, data: bytes) -> Parsed:
        """Reads on."""
        with self._lock:
            return self._counted(self._parser.feed(data))

    def close(self) -> Parsed:
        """Ends the stream."""
        with self._lock:
            return self._counted(self._parser.close())

    def record(self) -> dict[str, Any]:
        """The fields of the record `log`."""
        with self._lock:
            counts = self._parser.counts
            return {
                "stream": self._stream,
                "lines": counts.lines,
                "placements": counts.placements,
                "torn": counts.torn,
                "placed": _rows(self._placements.placed),
                "ran": _rows(self._placements.ran),
                "messages": list(self._messages),
            }

    def _counted(self, parsed: Parsed) -> Parsed:
        self._placements.add(parsed.records)
        for record in parsed.records:
            text = _text(record)
            if text and len(self._messages) < MAX_MESSAGES:
                self._messages.setdefault(text)
        return parsed


class LogRecords:
    """Writes the record of a summary from time to time, where there is news: the last one counts."""

    def __init__(self, summary: LogSummary, recorder: Recorder) -> None:
        self._summary = summary
        self._recorder = recorder
        self._written: dict[str, Any] | None = None
        self._due = _INTERVAL

    def write(self, seconds: float) -> None:
        """Writes it if it is time, so many seconds after the start."""
        if seconds < self._due:
            return
        record = self._summary.record()
        self._due = seconds + _INTERVAL
        if record != self._written:
            before = self._recorder.written
            self._recorder.write("log", **record)
            self._due = seconds + max(_INTERVAL, (self._recorder.written - before) / _RATE)
            self._written = record

    def write_last(self) -> None:
        """Writes it, even where the stream said nothing."""
        record = self._summary.record()
        if record != self._written:
            self._recorder.write("log", **record)


def _rows(counted: Counter[tuple[str, str]]) -> list[tuple[str, str, int]]:
    return [(op, device, count) for (op, device), count in counted.items()]


def _text(record: Record) -> str:
    if isinstance(record, Hint):
        return record.text
    if isinstance(record, Created):
        memory = f" with {record.memory_mb} MB" if record.memory_mb is not None else ""
        capability = f", compute capability {record.capability}" if record.capability else ""
        return f"Created {short_device(record.device)}{memory}: {record.name}, {record.pci_bus_id}{capability}"
    if isinstance(record, OutOfMemory):
        dtype = f" and type {record.dtype}" if record.dtype else ""
        device = f" on {short_device(record.device)}" if record.device else ""
        return f"Out of memory: a tensor of shape {list(record.shape)}{dtype}{device}"
    return ""
