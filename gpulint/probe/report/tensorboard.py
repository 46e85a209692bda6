"""The run as a TensorBoard log directory: scalars, texts, and TensorFlow's profile.

Uses TensorBoard's own package (the extra `tensorboard`), imported here only; TensorFlow is not needed.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from importlib.util import find_spec
from io import BytesIO
from itertools import accumulate
from typing import NamedTuple
from zlib import crc32

from gpulint.output.escapes import printable
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Steps
from gpulint.probe.expectations.expectation import Expectation
from gpulint.probe.expectations.metrics import METRICS, Measured
from gpulint.probe.measures.curves import beginning, curves
from gpulint.probe.report import RunReport, located
from gpulint.probe.report.file import check_writable, require_own, write_bytes
from gpulint.probe.report.header import header, verdict

_SIMULATED = "simulated"
"""Tag prefix of a simulated run."""


class Point(NamedTuple):
    """A value of a scalar. `t` is in seconds since the epoch, `step` counts training steps."""

    tag: str
    t: float
    step: int
    value: float
    description: str = ""


def is_available() -> bool:
    """Whether TensorBoard is installed."""
    return find_spec("tensorboard") is not None


def check_directory(path: str) -> None:
    """Raises OSError if a log directory can be neither written to nor created, before the program runs."""
    require_own(os.path.join(path, "events"))
    there = os.path.realpath(path)
    while not os.path.exists(there):
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        raise NotADirectoryError(20, os.strerror(20), path)
    check_writable(os.path.join(there, "events"))


def write(directory: str, report: RunReport, profile: str = "") -> None:
    """Writes the run into a log directory, created if missing. `profile` is the directory that TensorFlow's profiler
    wrote to, "" for none.

    Keeps files of other runs; a replay of the same run replaces its own file. Raises OSError.
    """
    content = events(report)
    _put(os.path.join(directory, _name(report.capture, content)), content)
    for folder, _, names in os.walk(profile) if profile else ():
        for name in names:
            source = os.path.join(folder, name)
            with open(source, "rb") as file:
                _put(os.path.join(directory, os.path.relpath(source, profile)), file.read())


def _put(path: str, content: bytes) -> None:
    require_own(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_bytes(path, content)


def events(report: RunReport) -> bytes:
    """Content of an event file: TFRecords of `Event`, ordered by time."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.plugins.scalar.summary_v2 import scalar_pb
    from tensorboard.plugins.text.summary_v2 import text_pb
    from tensorboard.summary.writer.record_writer import RecordWriter

    written = BytesIO()
    records = RecordWriter(written)
    capture = report.capture
    zero = beginning(capture)
    records.write(Event(wall_time=zero, file_version="brain.Event:2").SerializeToString())
    points = sorted((*scalars(capture), *_parts(report)), key=lambda point: point.t)
    for one in points:
        summary = scalar_pb(one.tag, one.value, description=one.description or None)
        records.write(Event(wall_time=one.t, step=one.step, summary=summary).SerializeToString())
    t, step = zero + capture.seconds, capture.taken.total()
    for tag, text in texts(report):
        records.write(Event(wall_time=t, step=step, summary=text_pb(_tag(capture, tag), text)).SerializeToString())
    return written.getvalue()


def scalars(capture: Capture) -> Iterator[Point]:
    """Memory of devices, cards and the host, training step times, and each metric of the whole run."""
    zero = beginning(capture)
    steps = sorted((one.t, one.number) for one in capture.timeline if isinstance(one.what, Steps))
    times, taken = [t for t, _ in steps], [0, *accumulate(count for _, count in steps)]
    for curve in curves(capture):
        kind = "memory" if curve.unit == "bytes" else "utilisation"
        estimate = " (estimate)" if capture.simulated and curve.subject.startswith("GPU") else ""
        for name, points in curve.lines:
            tag = _tag(capture, f"{kind}/{curve.subject}/{name}{estimate}")
            for t, value in points:
                yield Point(tag, zero + t, taken[bisect_right(times, zero + t)], value, f"In {curve.unit}.")
    if not capture.simulated:
        for one in capture.timeline:
            if isinstance(one.what, Steps) and one.seconds:
                step = taken[bisect_right(times, one.t)]
                yield Point(f"step time/{one.what.name}", one.t, step, one.seconds / one.number, "In seconds.")
    for metric in METRICS:
        measured = metric.of(capture, "") if not metric.argument or metric.optional else None
        if isinstance(measured, Measured):
            unit = {"share": "From 0 to 1.", "bytes": "In bytes.", "seconds": "In seconds."}.get(metric.kind, "")
            tag, said = _tag(capture, f"run/{metric.name}"), f"{metric.help} {unit}".strip()
            yield Point(tag, zero + capture.seconds, taken[-1], measured.value, said)


def _parts(report: RunReport) -> Iterator[Point]:
    """Time of each step by part."""
    time = report.time if not report.capture.simulated else None
    for step in time.each if time is not None else ():
        for name, seconds in step.parts.items():
            yield Point(f"time of a step/{name}", step.ended, step.number, seconds, "In seconds.")


def texts(report: RunReport) -> Iterator[tuple[str, str]]:
    """Tag and Markdown: the verdict with a description of the run, and a table of expectations."""
    lines = [f"**{_cell(verdict(report))}**", "", *(f"* {_cell(line)}" for line in header(report.capture))]
    yield "gpulint/verdict", "\n".join(lines)
    if report.expectations:
        names = ("", "expectation", "expected", "observed", "where", "evidence", "fix")
        rows = [names, ("---",) * len(names), *(_row(one) for one in report.expectations)]
        yield "gpulint/expectations", "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(one: Expectation) -> tuple[str, ...]:
    cells = (
        one.status.value,
        f"{one.code} {one.subject}".strip(),
        one.expected,
        one.observed,
        located(one.where),
        "; ".join(one.evidence),
        one.fix,
    )
    return tuple(_cell(text) for text in cells)


def _cell(text: str) -> str:
    """One line of text in which Markdown sees neither the end of a cell nor HTML."""
    text = printable(" ".join(text.split()))
    for character, escaped in (("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;")):
        text = text.replace(character, escaped)
    return text


def _tag(capture: Capture, name: str) -> str:
    return f"{_SIMULATED}/{name}" if capture.simulated else name


def _name(capture: Capture, content: bytes) -> str:
    """File name: TensorBoard reads names that contain `tfevents`, in their order. A placement log has neither time
    nor pid, and the pid of a damaged capture can be any text, such as a path: their names contain a hash of the
    content."""
    pid = capture.process.get("pid")
    run = pid if pid and isinstance(pid, int) else crc32(content)
    return f"events.out.tfevents.{int(beginning(capture))}.{run}.gpulint"
