"""A comparison as one HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from gpulint.probe.compare.comparison import Comparison
from gpulint.probe.compare.words import change, headline, value, verdict
from gpulint.probe.report import located
from gpulint.probe.report.page.environment import command
from gpulint.probe.report.page.frame import framed
from gpulint.probe.report.page.markup import Child, tag
from gpulint.probe.report.page.parts import code, prose, table
from gpulint.probe.report.title import title


def render(comparison: Comparison) -> str:
    """The page."""
    sections = [("Measures", _measures(comparison)), ("Checks", _checks(comparison))]
    return framed(command(comparison.after), _banner(comparison), sections)


def _banner(comparison: Comparison) -> Element:
    runs = (f"before: {title(comparison.before)}", f"after: {title(comparison.after)}")
    lines = [*runs, *(f"different: {one}" for one in comparison.differences)]
    return tag(
        "header",
        tag("ul", (tag("li", line) for line in lines), class_="lines"),
        tag("h1", headline(comparison)),
    )


def _measures(comparison: Comparison) -> Iterator[Child]:
    rows = [
        [one.name, value(one.unit, one.before), value(one.unit, one.after), change(one), one.verdict]
        for one in comparison.changes
    ]
    if rows:
        yield table(("measure", "before", "after", "change", "verdict"), rows, numbers={1, 2})
    else:
        yield tag("p", "Neither run has steps or memory to compare.", class_="empty")


def _checks(comparison: Comparison) -> Iterator[Child]:
    rows: list[list[Child]] = [
        [
            verdict(one),
            [code(one.check.code), " ", *prose(one.check.subject)] if one.check.code else [*prose(one.check.subject)],
            prose(one.check.observed) if one.is_new else None,
            code(located(one.check.where)) if one.check.where is not None else None,
        ]
        for one in comparison.verdicts
    ]
    if rows:
        yield table(("change", "check", "observed", "where"), rows)
    else:
        yield tag("p", "No check failed in one run and passed in the other.", class_="empty")
