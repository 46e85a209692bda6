"""The report as one HTML file that needs no network, and JavaScript only for its tabs, tables and readouts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib.resources import files
from xml.etree.ElementTree import Element

from gpulint._version import __version__
from gpulint.probe.report import RunReport
from gpulint.probe.report.header import header
from gpulint.probe.report.json import content
from gpulint.probe.report.page import checks, devices, environment, memory, source, summary, timing
from gpulint.probe.report.page.markup import Child, document, raw, tag
from gpulint.probe.report.page.places import Places


def render(report: RunReport) -> str:
    """The page. Reads the program's files if the capture lacks their text."""
    written = content(report)
    spent, memories = report.time, report.held
    lines = [one.where for one in report.advice]
    lines += [one.where for one in spent.by_line] if spent is not None else []
    lines += [holder.where for one in memories for holder in one.holders]
    places = Places(report, written["placements"], lines)
    sections: list[tuple[str, Iterator[Child]]] = [
        ("Summary", summary.section(report, places)),
        ("Time", timing.section(report, places)),
        ("Memory", memory.section(report, places)),
        ("Source", source.section(report, places)),
        ("Devices", devices.section(report, written["copies"], places)),
        ("Checks", checks.section(report, places)),
        ("Environment", environment.section(report, written, places)),
    ]
    return document(
        tag(
            "html",
            _head(environment.command(report)),
            tag(
                "body",
                _banner(report),
                tag("nav", (tag("a", name, href=f"#{name.lower()}") for name, _ in sections), aria_label="Sections"),
                tag(
                    "main",
                    (
                        tag("section", tag("h2", name, tabindex=-1), body, id=name.lower(), aria_label=name)
                        for name, body in sections
                    ),
                ),
                tag("footer", f"Made by gpulint {__version__}. This page loads nothing."),
                raw("script", _own("page.js")),
            ),
            lang="en",
        )
    )


def _head(command: str) -> Element:
    style, script = _own("page.css"), _own("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"gpulint probe: {command}" if command else "gpulint probe"),
        raw("style", style),
    )


def _banner(report: RunReport) -> Element:
    lines = list(header(report.capture))
    return tag(
        "header",
        tag("ul", (tag("li", line) for line in lines), class_="lines"),
        tag("h1", report.headline),
    )


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """A hash source for the content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
