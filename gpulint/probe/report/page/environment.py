"""The sections Environment and Raw."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator, Mapping
from typing import Any

from gpulint.probe.measures.curves import beginning
from gpulint.probe.report import RunReport
from gpulint.probe.report.page.markup import Child, tag
from gpulint.probe.report.page.parts import code, link, table
from gpulint.probe.report.page.places import Places

_YES = {"True": "yes", "False": "no"}
_UNSEEN = re.compile(r"[^\x20-\x7e\n]")


def section(report: RunReport, places: Places) -> Iterator[Child]:
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
        yield tag("p", "Nothing is known of where the program ran.", class_="empty")
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


def raw(content: Mapping[str, Any]) -> Iterator[Child]:
    """The JSON report. Special characters are JSON escapes, so that everything is visible and can be copied."""
    yield tag("p", "The report as `--output-format json` writes it.", class_="hint")
    text = json.dumps(content, indent=1, ensure_ascii=False)
    yield tag("pre", _UNSEEN.sub(_escaped, text), tabindex=0, aria_label="JSON", id="json")


def command(report: RunReport) -> str:
    """The command line as users know it, "" if there is none."""
    return shlex.join(report.capture.start.get("command", ()))


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    return char if char.isprintable() else json.dumps(char)[1:-1]


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds)) if seconds else ""
