"""The report as one HTML file that needs no network, and JavaScript only for its tabs, tables and readouts."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from gpulint.probe.report import RunReport
from gpulint.probe.report.header import SIMULATED, unseen, unused_cards
from gpulint.probe.report.json import content
from gpulint.probe.report.page import checks, devices, environment, memory, source, summary, timing
from gpulint.probe.report.page.frame import framed
from gpulint.probe.report.page.markup import Child, tag
from gpulint.probe.report.page.places import Places
from gpulint.probe.report.title import title


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
    return framed(environment.command(report), _banner(report), sections)


def _banner(report: RunReport) -> Element:
    capture = report.capture
    lines = [SIMULATED] if capture.simulated else []
    lines += [*unused_cards(capture), *unseen(capture)]
    return tag(
        "header",
        tag("p", title(report) or "gpulint probe", class_="title"),
        tag("h1", report.headline.replace(" %", "\u00a0%")),
        tag("ul", (tag("li", line) for line in lines), class_="lines") if lines else None,
    )
