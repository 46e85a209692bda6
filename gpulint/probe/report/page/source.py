"""The section Source: the program's files, each row with the devices of its operations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element

from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation, Status
from gpulint.probe.measures.device_words import listed
from gpulint.probe.measures.time_spent import TimeSpent
from gpulint.probe.measures.time_words import duration, percent
from gpulint.probe.report import RunReport
from gpulint.probe.report.page.highlight import highlighted
from gpulint.probe.report.page.markup import Child, tag
from gpulint.probe.report.page.parts import badge, chip, code, prose, table
from gpulint.probe.report.page.places import Places, RowNotes, broken
from gpulint.probe.report.source_text import source_file

FOLDED = 12
"""Number of consecutive rows without annotations from which they are collapsed."""

CONTEXT = 4
"""Rows that stay visible on each side."""

CHIPS = 3
"""Chips in the gutter of a row: devices, or ranges of devices with equal counts; others are counted."""

HOT = 0.1
"""Share of the training time from which a row's time stands out."""


def section(report: RunReport, places: Places) -> Iterator[Child]:
    """A block for each file; for a notebook, for each cell."""
    times = _times(report.time)
    if not places.files:
        yield tag("p", "Nothing was recorded by source line.", class_="empty")
        return
    yield tag(
        "p",
        "Beside a row: its share of the training time and the time in a step, and the devices on which its operations "
        "ran, with their number. Open a row to see each operation, the device it requested, and the reason.",
        class_="hint",
    )
    for (path, cell), rows in places.files.items():
        file = source_file(path, report.capture, cell)
        top = Where(path, 0, cell)
        body: Child
        if file.rows is None:
            body = [_unseen(places, top._replace(row=row), notes, times) for row, notes in sorted(rows.items())]
        else:
            lines = [
                _row(places, top._replace(row=number), children, rows.get(number), times)
                for number, children in enumerate(highlighted(file.rows), 1)
            ]
            kept = {number for number in rows if number <= len(lines)}
            body = [
                *_folded(lines, kept),
                *(_unseen(places, top._replace(row=row), rows[row], times) for row in sorted(set(rows) - kept)),
            ]
        yield tag(
            "details",
            tag("summary", code(places.located(top)[: -len(":0")]), _sum(rows.values())),
            tag("p", file.note, class_="note") if file.note else None,
            tag("div", body, class_="source timed" if times else "source"),
            class_="file",
            open=file.rows is not None,
        )


def _sum(rows: Collection[RowNotes]) -> Element:
    operations = sum(sum(notes.devices.values()) for notes in rows)
    worst = [one for notes in rows for one in broken(notes.expectations)]
    said = [f"{operations:,} operations"] if operations else []
    if worst:
        said.append(f"{len(worst)} to look at")
    return tag("span", ", ".join(said), class_="aside")


def _times(spent: TimeSpent | None) -> dict[Where, tuple[float, float]]:
    """Seconds of a step, and share of the training time, by line."""
    if spent is None or not spent.steps or not spent.seconds:
        return {}
    seconds: defaultdict[Where, float] = defaultdict(float)
    for one in spent.by_line:
        if one.where is not None:
            seconds[one.where] += one.seconds
    waited = spent.seconds_of("input")
    working = sum(one.threads for one in spent.input_stages if one.where is not None)
    for stage in spent.input_stages:  # training waits on one line for the work of other lines
        if stage.where is not None and working:
            seconds[stage.where] += waited * stage.threads / max(working, 1.0)
    return {where: (each / spent.steps, each / spent.seconds) for where, each in seconds.items()}


def _row(
    places: Places,
    where: Where,
    children: list[Child],
    notes: RowNotes | None,
    times: Mapping[Where, tuple[float, float]],
) -> list[Element]:
    anchor = places.anchor(where)
    each, share = times.get(where, (0.0, 0.0))
    cells = [
        tag("span", str(where.row), class_="number"),
        tag(
            "span",
            f"{duration(each)} · {percent(share)}" if each else None,
            class_="hot time" if share >= HOT else "time",
        )
        if times
        else None,
        tag("span", _chips(notes) if notes else None, class_="gutter"),
        tag("span", children or "\n", class_="code"),
    ]
    if notes is None:
        return [tag("div", cells, class_="row", id=anchor)]
    if notes.placements:
        summary = tag("summary", cells, class_="row", title=_title(notes))
        row = tag("details", summary, _operations(notes), class_="ops", id=anchor)
    else:
        row = tag("div", cells, class_="row", id=anchor)
    return [row, *(_annotation(one) for one in notes.expectations if one.status is not Status.PASS)]


def _unseen(places: Places, where: Where, notes: RowNotes, times: Mapping[Where, tuple[float, float]]) -> list[Element]:
    """A row whose text is unavailable."""
    return _row(places, where, [tag("i", "(no text)")], notes, times)


def _chips(notes: RowNotes) -> Iterator[Child]:
    devices = notes.devices
    alike: dict[int, list[str]] = {}
    for device in sorted(devices, key=_numbered):
        alike.setdefault(devices[device], []).append(device)
    groups = [(name, count) for count, some in alike.items() for name in listed(some).split(", ")]
    for name, count in groups[:CHIPS]:
        yield chip(name, _short(count))
    if len(groups) > CHIPS:
        yield tag("span", f"+{len(groups) - CHIPS}", class_="chip")
    if notes.placements and not devices:
        yield tag("span", "bookkeeping", class_="chip quiet")


def _numbered(device: str) -> tuple[str, int]:
    kind, _, number = device.rpartition(":")
    return kind, int(number) if number.isdecimal() else 0


def _short(count: int) -> str:
    """A number in about four characters; the row has the exact ones."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if count >= size:
            return f"{count / size:.0f}{unit}" if count >= 10 * size else f"{count / size:.1f}{unit}"
    return str(count)


def _title(notes: RowNotes) -> str:
    """Tooltip of the row."""
    ordered = sorted(notes.placements, key=lambda one: -int(one["count"]))
    lines = [f"{one['count']:,} × {one['op']}: {_placement_text(one)}" for one in ordered]
    return "\n".join([*lines[:10], f"… and {len(lines) - 10} more"] if len(lines) > 10 else lines)


def _placement_text(one: Mapping[str, Any]) -> str:
    reason = f" ({one['reason']})" if one.get("reason") else ""
    return f"asked for {one['requested'] or 'no device'}, on {one['assigned'] or 'an unknown one'}{reason}"


def _operations(notes: RowNotes) -> Element:
    ordered = sorted(notes.placements, key=lambda one: (-int(one["count"]), one["op"]))
    has_reason = any(one.get("reason") for one in ordered)
    names = ["operation", "asked for", "on", "number", *(["why"] if has_reason else []), "in"]
    return table(
        names,
        (
            [
                code(one["op"]),
                code(one["requested"]) if one["requested"] else tag("span", "no device", class_="quiet"),
                chip(one["assigned"]) if one["assigned"] else tag("span", "not known", class_="quiet"),
                f"{one['count']:,}",
                *([str(one.get("reason") or "")] if has_reason else []),
                ["graph", " ", code(one["layer"]) if one["layer"] else None] if "layer" in one else "eager",
            ]
            for one in ordered
        ),
        numbers={3},
    )


def _annotation(one: Expectation) -> Element:
    return tag(
        "div",
        badge(one.status),
        " ",
        tag("b", prose(f"{one.code} {one.subject}".strip())),
        ": ",
        prose(one.observed),
        [tag("br"), tag("span", prose(f"{one.fix[0].upper()}{one.fix[1:]}."), class_="fix")] if one.fix else None,
        class_=f"annotation {one.status.value}",
    )


def _folded(lines: list[list[Element]], kept: set[int]) -> Iterator[Child]:
    """Rows from 1, with long stretches without annotations collapsed."""
    near = {row for number in kept for row in range(number - CONTEXT, number + CONTEXT + 1)}
    stretch: list[int] = []
    for number in range(1, len(lines) + 2):
        if number <= len(lines) and number not in near:
            stretch.append(number)
            continue
        elements = [lines[row - 1] for row in stretch]
        if len(stretch) < FOLDED:
            yield elements
        else:
            yield tag("details", tag("summary", f"rows {stretch[0]} to {stretch[-1]}"), elements, class_="fold")
        stretch = []
        if number <= len(lines):
            yield lines[number - 1]
