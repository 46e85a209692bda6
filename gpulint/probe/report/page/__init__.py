"""The report as one HTML file that needs no network, and JavaScript only for its tabs."""

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
from gpulint.probe.report.page import devices, environment, memory, source, verdict
from gpulint.probe.report.page.markup import Child, document, raw, tag
from gpulint.probe.report.page.parts import badge, code
from gpulint.probe.report.page.places import Places


def render(report: RunReport) -> str:
    """The page. Reads the program's files if the capture lacks their text."""
    written = content(report)
    places = Places(report, written["placements"])
    sections: list[tuple[str, Iterator[Child]]] = [
        ("Verdict", verdict.section(report, places)),
        ("Source", source.section(report, places)),
        ("Devices", devices.section(report, places)),
        ("Memory", memory.section(report)),
        ("Copies", devices.copies(report, written["copies"], places)),
        ("Environment", environment.section(report, places)),
        ("Raw", environment.raw(written)),
    ]
    command = environment.command(report)
    return document(
        tag(
            "html",
            _head(command),
            tag(
                "body",
                _banner(report, command),
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


def _banner(report: RunReport, command: str) -> Element:
    said, worst = verdict.headline(report)
    return tag(
        "header",
        tag("p", tag("span", "gpulint probe", class_="product"), " ", code(command) if command else None),
        tag("h1", badge(worst), " ", said),
        tag("ul", (tag("li", line) for line in header(report.capture)), class_="lines"),
        class_=worst.value,
    )


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """A hash source for the content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
