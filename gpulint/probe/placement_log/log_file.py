"""Reads a saved placement log as a capture."""

from __future__ import annotations

import re

from gpulint.probe.capture.contents import Capture, Log
from gpulint.probe.capture.reader import CaptureError
from gpulint.probe.placement_log.summary import LogSummary
from gpulint.sources.reading import open_stream

_CHUNK = 1 << 20


def capture_of_log(path: str) -> Capture:
    """The capture of a placement log of any TensorFlow release. Raises CaptureError for a file without a line of
    one, OSError."""
    summary = LogSummary("log")
    with open(open_stream(path), "rb") as file:
        while chunk := file.read(_CHUNK):
            summary.feed(chunk)
    summary.close()
    if not summary.is_recognised:
        raise CaptureError(f"{path}: not a placement log: no line says where TensorFlow ran anything")
    (record,) = summary.records()
    log = Log(record["lines"], record["placements"], record["torn"], messages=list(record["messages"]))
    for op, device, count in record["placed"]:
        log.placed[op, device] = count
    for op, device, count in record["ran"]:
        log.ran[op, device] = count
    devices = sorted({device for _, device in (*log.placed, *log.ran)}, key=_by_number)
    return Capture(logs={"log": log}, logical=tuple(devices))


def _by_number(device: str) -> list[tuple[int, str]]:
    """Sorts `GPU:10` after `GPU:9`. The numbers of a forged log can have thousands of digits."""
    return [(len(part), part) for part in re.split(r"(\d+)", device)]
