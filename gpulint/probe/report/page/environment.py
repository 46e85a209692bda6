"""The section Environment, with the JSON report as a download."""

from __future__ import annotations

import base64
import shlex
import time
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element

from gpulint.output.escapes import json_dumps
from gpulint.probe.measures.curves import beginning
from gpulint.probe.report import RunReport
from gpulint.probe.report.page.markup import Child, tag
from gpulint.probe.report.page.parts import code, link, table
from gpulint.probe.report.page.places import Places

_YES = {"True": "yes", "False": "no"}


def section(report: RunReport, written: Mapping[str, Any], places: Places) -> Iterator[Child]:
    """Machine, configuration, lost evidence, and TensorFlow's own messages."""
    capture = report.capture
    facts = [
        ("command", command(report)),
        ("directory", capture.start.get("directory", "")),
        ("began", _moment(beginning(capture))),
        ("TensorFlow", capture.tensorflow.get("tensorflow", "")),
        ("built for CUDA", _YES.get(str(capture.tensorflow.get("cuda")), "")),
        ("Python", capture.process.get("python", "")),
        ("platform", capture.start.get("platform", "")),
        ("gpulint", capture.start.get("gpulint", "")),
    ]
    known = [(name, value) for name, value in facts if value]
    if known:
        yield tag("dl", ([tag("dt", name), tag("dd", code(value))] for name, value in known), class_="facts")
    else:
        yield tag("p", "Nothing was recorded about where the program ran.", class_="empty")
    if capture.calls:
        yield tag("h3", "Calls that configure devices")
        rows = (
            [
                code(f"{one.name}({', '.join(one.arguments.values())})"),
                one.error or "accepted",
                link(places, one.where),
            ]
            for one in capture.calls
        )
        yield table(("call", "outcome", "where"), rows)
    if capture.lost or capture.faults or capture.torn:
        yield tag("h3", "What was not seen")
        lines = [f"{evidence}: {reason}" for evidence, reason in capture.lost]
        lines += [f"fault of the probe: {fault}" for fault in capture.faults]
        lines += [f"lines of the capture that could not be read: {capture.torn}"] if capture.torn else []
        yield tag("ul", (tag("li", line) for line in lines))
    for name, log in capture.logs.items():
        if log.messages:
            yield tag("h3", f"TensorFlow's messages on {name}")
            yield tag("ul", (tag("li", code(message)) for message in log.messages))
    yield tag("h3", "Raw data")
    yield _download(written)


def _download(written: Mapping[str, Any]) -> Element:
    """The JSON report, inside its own address."""
    text = base64.b64encode(json_dumps(written, ensure_ascii=True).encode()).decode()
    return tag(
        "p",
        tag(
            "a",
            "Download the JSON report",
            href=f"data:application/json;base64,{text}",
            download="gpulint.json",
            class_="download",
        ),
        ", as --output-format json writes it.",
        class_="hint",
    )


def command(report: RunReport) -> str:
    """The command line as users know it, "" if there is none."""
    return shlex.join(report.capture.start.get("command", ()))


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds)) if seconds else ""
