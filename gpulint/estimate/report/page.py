"""The estimate as one HTML file, in the style of the probe's page."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from xml.etree.ElementTree import Element

from gpulint.estimate.report.json import content
from gpulint.estimate.report.words import fits, headline, peak, place, size, title
from gpulint.estimate.result import Estimate, Holder, Memory, Moment, OnCard
from gpulint.estimate.time.bounds import lines_of
from gpulint.output.escapes import json_dumps
from gpulint.probe.capture.records import Where
from gpulint.probe.measures import holders
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_words import duration, percent
from gpulint.probe.report.page.figures import HEIGHT, TICKS, WIDTH, Reading, bar, plot, rounded
from gpulint.probe.report.page.frame import framed
from gpulint.probe.report.page.markup import Child, tag
from gpulint.probe.report.page.memory import treemap
from gpulint.probe.report.page.parts import code, prose, sortable, table

MOST_POINTS = 400
"""Points of the memory's curve; more are not visible."""

_BARS = {"launch": "launch", "compute": "gpu", "memory": "collective", "copy": "copy"}
"""Bound → the probe's part of a step whose color it has."""


def render(estimate: Estimate, command: str = "") -> str:
    """The page. `command` is the command line of the program."""
    sections: list[tuple[str, Iterator[Child]]] = [
        ("Summary", _summary(estimate)),
        ("Memory", _memory(estimate)),
        ("Time", _time(estimate)),
        ("Method", _method(estimate)),
    ]
    return framed(command, _banner(estimate), sections, "gpulint estimate")


def _banner(estimate: Estimate) -> Element:
    notes = [f"{note[0].upper()}{note[1:]}." for note in estimate.notes]
    return tag(
        "header",
        tag("p", title(estimate), class_="title"),
        tag("h1", headline(estimate)),
        tag("ul", (tag("li", note) for note in notes), class_="lines") if notes else None,
    )


def _summary(estimate: Estimate) -> Iterator[Child]:
    names = ("GPU", "fits", "peak", "of", "first step", "process", "largest batch", "step at least", "bound by")
    yield table(names, map(_row, estimate.cards), numbers=set(range(2, 8)))
    for one in estimate.cards:
        yield tag("h3", one.card.name)
        yield tag("ul", (tag("li", f"{text[0].upper()}{text[1:]}.") for text in (one.active, *one.remarks)))
    memory = _known(estimate.cards)
    if memory is not None and memory.changes:
        yield tag("h3", "What saves memory")
        yield tag("ol", (tag("li", prose(f"{text[0].upper()}{text[1:]}.")) for text in memory.changes))


def _row(one: OnCard) -> list[Child]:
    memory, found = one.memory, one.bounds
    peaks = (memory.steady_peak, memory.first_step_peak, memory.process) if memory else (None, None, None)
    limit = memory.limit if memory else one.card.limit
    largest = memory.largest_batch if memory else None
    return [
        one.card.name,
        fits(memory),
        _size(peaks[0]),
        _size(limit),
        _size(peaks[1]),
        _size(peaks[2]),
        sortable(f"{largest:,}", largest) if largest is not None else "unknown",
        sortable(duration(found.seconds), found.seconds),
        found.active,
    ]


def _size(bytes_: int | None) -> Child:
    return "unknown" if bytes_ is None else sortable(size(bytes_), bytes_)


def _known(cards: Sequence[OnCard]) -> Memory | None:
    """The memory of a card, first of one that the step does not fit on."""
    memories = [one.memory for one in cards if one.memory is not None]
    return next((one for one in memories if one.fits == "no"), memories[0] if memories else None)


# ---------------------------------------------------------------------------------------------------------- memory


def _memory(estimate: Estimate) -> Iterator[Child]:
    """The memory over the step, and what holds it at the peak."""
    memory = _known(estimate.cards)
    if memory is None or not memory.steady_peak:
        yield tag("p", "The memory is unknown.", class_="empty")
        return
    yield tag("p", f"Memory at the peak of {peak(memory)}.")
    drawn = [_curve(memory.curve, memory.limit)] if len(memory.curve) > 1 else []
    yield tag("div", drawn, treemap(_held(memory), _located), class_="figures")
    yield table(
        ("held by", "bytes", "share", "line", "layer"),
        (
            [
                holders.GROUP_NAMES.get(one.group, one.group),
                sortable(in_words(one.bytes), one.bytes),
                sortable(percent(one.bytes / memory.steady_peak), one.bytes),
                code(place(one.filename, one.row, one.cell)) if one.filename else None,
                code(one.layer) if one.layer else None,
            ]
            for one in sorted(memory.holders, key=lambda one: -one.bytes)
        ),
        numbers={1, 2},
    )


def _held(memory: Memory) -> holders.Held:
    """The memory as the probe's treemap draws it. Bytes that no line holds belong to unknown holders."""
    peak = memory.steady_peak or 0
    known = list(memory.holders) or [Holder("", 0, group, amount) for group, amount in memory.by_group.items()]
    rest = peak - sum(one.bytes for one in known)
    found = [
        holders.Holder(
            "GPU:0",
            one.group if one.group in holders.GROUP_NAMES else "other",
            Where(os.path.abspath(one.filename), one.row, one.cell) if one.filename else None,
            one.bytes,
        )
        for one in known
    ]
    if rest > 0:
        found.append(holders.Holder("GPU:0", "other", None, rest))
    ordered = tuple(sorted(found, key=lambda one: -one.bytes))
    return holders.Held("GPU:0", peak, None, memory.first_step_peak, memory.process, ordered)


def _located(where: Where) -> str:
    return place(where.path, where.row, where.cell)


def _curve(moments: Sequence[Moment], limit: int) -> Element:
    """Bytes in use over the step's operations, in the order in which they run."""
    shown = _thinned(list(enumerate(moments)))
    unit = 1.0
    highest = max(moment.bytes for _, moment in shown)
    while highest / TICKS / unit >= 1000:
        unit *= 1024
    top = rounded(highest / unit) * unit
    placed = [(WIDTH * number / max(1, len(moments) - 1), HEIGHT * (1 - one.bytes / top)) for number, one in shown]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in placed)
    area = f"M{placed[0][0]:.1f} {HEIGHT}L{path}L{placed[-1][0]:.1f} {HEIGHT}Z"
    edge = f"{HEIGHT * (1 - limit / top):.1f}"
    border = tag("line", x1=0, x2=WIDTH, y1=edge, y2=edge, class_="limit") if limit <= top else None
    reads = [Reading(x, _reading(number, one)) for (x, _), (number, one) in zip(placed, shown, strict=True)]
    said = f"at most {in_words(highest)}"
    return plot(
        [tag("b", "Memory over the step"), " ", tag("span", said, class_="aside")],
        [tag("path", d=area, class_="area"), tag("path", d=f"M{path}", class_="line0"), border],
        reads,
        ["first operation", "last"],
        [in_words(top * part / TICKS) if part else "0" for part in range(TICKS, -1, -1)],
        f"Memory over the step's {len(moments):,} operations, {said}",
    )


def _reading(number: int, one: Moment) -> str:
    where = place(one.filename, one.row, one.cell)
    return f"operation {number + 1:,}, {one.operation}{f' ({where})' if where else ''}: {in_words(one.bytes)}"


def _thinned(moments: list[tuple[int, Moment]]) -> list[tuple[int, Moment]]:
    """At most MOST_POINTS moments, each with most bytes of its neighbours, so that the peak survives."""
    if len(moments) <= MOST_POINTS:
        return moments
    edges = [len(moments) * part // MOST_POINTS for part in range(MOST_POINTS + 1)]
    return [max(moments[first:last], key=lambda one: one[1].bytes) for first, last in pairwise(edges)]


# ------------------------------------------------------------------------------------------------------------ time


def _time(estimate: Estimate) -> Iterator[Child]:
    """The bounds on each card, side by side, and by line."""
    yield tag(
        "p", "Lower bounds: the step takes at least the longest of them. They are not predictions.", class_="hint"
    )
    for one in estimate.cards:
        found = one.bounds
        seconds = {"launch": found.launch, "compute": found.compute, "memory": found.memory, "copy": found.copy}
        longest = max(seconds.values()) or 1.0
        yield tag("h3", f"{one.card.name}: {duration(found.seconds)}, bound by {found.active}")
        yield tag(
            "div",
            (
                [
                    tag("p", f"{name} {duration(value)}", class_="aside"),
                    bar([(_BARS[name], value / longest)], f"{name} {duration(value)}"),
                ]
                for name, value in seconds.items()
                if value
            ),
            class_="phases",
        )
    first = estimate.cards[0]
    rows = [(line, bound, first.bounds.by_line[line]) for line, bound, _ in lines_of(first.bounds) if line.filename]
    if rows:
        yield tag("h3", f"By line, on {first.card.name}")
        yield table(
            ("line", "bound by", "launch", "compute", "memory"),
            (
                [
                    code(place(line.filename, line.row, line.cell)),
                    bound,
                    *(sortable(duration(one), one) for one in parts),
                ]
                for line, bound, parts in rows
            ),
            numbers={2, 3, 4},
        )


# ---------------------------------------------------------------------------------------------------------- method


def _method(estimate: Estimate) -> Iterator[Child]:
    yield tag("p", "Everything on this page is estimated; no step was run.", class_="hint")
    yield tag("ul", (tag("li", prose(text)) for text in estimate.method))
    yield tag("h3", "Cards")
    yield table(("GPU", "memory", "for the program", "source"), map(_source, estimate.cards), numbers={1, 2})
    if estimate.unknown:
        yield tag("h3", "Operations without a model")
        unknown: list[list[Child]] = [[code(name), f"{count:,}"] for name, count in estimate.unknown.most_common()]
        yield table(("operation", "number"), unknown, numbers={1}, narrow=True)
    yield tag("h3", "Raw data")
    text = base64.b64encode(json_dumps(content(estimate), ensure_ascii=True).encode()).decode()
    href = f"data:application/json;base64,{text}"
    download = tag("a", "Download the JSON report", href=href, download="estimate.json", class_="download")
    yield tag("p", download, ", as --output-format json writes it.", class_="hint")


def _source(one: OnCard) -> list[Child]:
    card = one.card
    return [card.name, _size(card.memory), _size(card.limit), code(card.source)]
