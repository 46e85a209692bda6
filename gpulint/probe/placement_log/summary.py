"""Totals of the placement log of each stream, as records of a capture."""

from __future__ import annotations

import io
import threading
from collections import Counter
from typing import Any, Protocol

from gpulint.probe.capture.recorder import Recorder
from gpulint.probe.placement_log import grammar
from gpulint.probe.placement_log.counts import Placements, short_device
from gpulint.probe.placement_log.parser import MAX_LINE, Parsed, PlacementLogParser
from gpulint.probe.placement_log.records import Created, Hint, OutOfMemory, Record

MAX_MESSAGES = 50
"""Limit of messages kept: a program that runs out of memory at every step says so at every step."""

_INTERVAL = 10.0
"""Seconds between two records of one stream."""

_RATE = 5_000
"""Bytes per second that records may take: long ones are written less often."""


class Summary(Protocol):
    """Parses what comes through a channel. One thread feeds it while another takes the records."""

    @property
    def pending(self) -> bytes:
        """Text held back by the parser."""

    def flush(self) -> bytes:
        """Returns the held-back text."""

    def pause(self) -> None:
        """Marks the end of a write."""

    def feed(self, data: bytes) -> Parsed:
        """Parses more bytes."""

    def close(self) -> Parsed:
        """Ends the stream."""

    def records(self) -> list[dict[str, Any]]:
        """The fields of the `log` records, one per stream."""

    @property
    def messages(self) -> list[str]:
        """Other messages of TensorFlow about devices."""


class LogSummary:
    """Totals of one stream."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._parser = PlacementLogParser()
        self._placements = Placements()
        self._messages: dict[str, None] = {}
        self._lock = threading.Lock()
        self.is_recognised = False
        """Whether any line was TensorFlow's, about devices."""

    @property
    def pending(self) -> bytes:
        return self._parser.pending

    def flush(self) -> bytes:
        with self._lock:
            return self._parser.flush()

    def pause(self) -> None:
        self._parser.pause()

    def feed(self, data: bytes) -> Parsed:
        with self._lock:
            return self._counted(self._parser.feed(data))

    def close(self) -> Parsed:
        with self._lock:
            return self._counted(self._parser.close())

    def records(self) -> list[dict[str, Any]]:
        with self._lock:
            counts = self._parser.counts
            record = {
                "stream": self._stream,
                "lines": counts.lines,
                "placements": counts.placements,
                "torn": counts.torn,
                "placed": _rows(self._placements.placed),
                "ran": _rows(self._placements.ran),
                "messages": list(self._messages),
            }
            return [record]

    @property
    def messages(self) -> list[str]:
        with self._lock:
            return list(self._messages)

    def _counted(self, parsed: Parsed) -> Parsed:
        self._placements.add(parsed.records)
        self.is_recognised = self.is_recognised or bool(parsed.records)
        for record in parsed.records:
            text = _text(record)
            if text and len(self._messages) < MAX_MESSAGES:
                self._messages.setdefault(text)
        return parsed


class SharedSummary:
    """Totals of two streams that share a terminal or file, where the order of the output must be kept.

    TensorFlow prints most placements on both streams, which must not be added up. Lines with a header count for
    standard error, all others for standard output.
    """

    def __init__(self, output: str, errors: str) -> None:
        self._parser = PlacementLogParser()
        self._output, self._errors = LogSummary(output), LogSummary(errors)
        self._line = b""
        """The unfinished line."""

    @property
    def pending(self) -> bytes:
        return self._parser.pending

    def flush(self) -> bytes:
        return self._parser.flush()

    def pause(self) -> None:
        self._parser.pause()

    def feed(self, data: bytes) -> Parsed:
        whole = data.rfind(b"\n") + 1
        if whole:
            self._feed_summaries(self._line + data[:whole])
            self._line = data[whole:]
        else:
            self._line += data
        if len(self._line) > MAX_LINE:
            self._output.feed(self._line)
            self._line = b""
        return self._parser.feed(data)

    def close(self) -> Parsed:
        self._feed_summaries(self._line)
        self._line = b""
        self._output.close()
        self._errors.close()
        return self._parser.close()

    @property
    def messages(self) -> list[str]:
        return [*self._output.messages, *self._errors.messages]

    def records(self) -> list[dict[str, Any]]:
        return [*self._output.records(), *self._errors.records()]

    def _feed_summaries(self, lines: bytes) -> None:
        """Pass the lines that a library logged to the summary of the error stream, the others to that of the output."""
        logged: list[bytes] = []
        printed: list[bytes] = []
        for line in io.BytesIO(lines):
            is_logged = b"] " in line and grammar.HEADER.search(line) is not None
            (logged if is_logged else printed).append(line)
        if printed:
            self._output.feed(b"".join(printed))
        if logged:
            self._errors.feed(b"".join(logged))


class LogRecords:
    """Writes the records of a summary at intervals, if they changed: the last one of a stream counts."""

    def __init__(self, summary: Summary, recorder: Recorder) -> None:
        self._summary = summary
        self._recorder = recorder
        self._written: dict[str, dict[str, Any]] = {}
        self._due = _INTERVAL

    def write(self, seconds: float) -> None:
        """Writes them if due, given the seconds since the start."""
        if seconds >= self._due:
            before = self._recorder.written
            self.write_last()
            self._due = seconds + max(_INTERVAL, (self._recorder.written - before) / _RATE)

    def write_last(self) -> None:
        """Writes them now, including those of silent streams."""
        for record in self._summary.records():
            if record != self._written.get(record["stream"]):
                self._recorder.write("log", **record)
                self._written[record["stream"]] = record


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
