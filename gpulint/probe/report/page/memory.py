"""The section Memory: curves over the run, as SVG."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from xml.etree.ElementTree import Element

from gpulint.probe.advice.words import holders
from gpulint.probe.capture.records import Where
from gpulint.probe.cluster.worker_text import device_name
from gpulint.probe.measures.curves import Curve, Points, Span, curves, phases
from gpulint.probe.measures.device_words import listed
from gpulint.probe.measures.holders import GROUP_NAMES, Held, Holder
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_words import percent
from gpulint.probe.report import RunReport
from gpulint.probe.report.page.figures import HEIGHT, TICKS, WIDTH, Reading, plot, rounded
from gpulint.probe.report.page.markup import Child, tag
from gpulint.probe.report.page.parts import chip, link, sortable, table
from gpulint.probe.report.page.places import Places
from gpulint.probe.report.page.treemap import Box, squarified

MOST = 500
"""Points of a line; more are not visible."""

MAP_WIDTH, MAP_HEIGHT = 560, 200
"""Size of a treemap, which keeps its proportions."""

CURVES = 8
"""Curves that are shown; more are folded."""

TINY = 0.001
"""Share of a device's peak below which its holders come last."""

BOXES = 12
"""Holders with a box of their own; the others share one."""


def section(report: RunReport, places: Places) -> Iterator[Child]:
    """Holders of each device's memory at its peak; then the phases, and a curve for each device, card, and the host."""
    known = [_together(equal) for equal in _equal(report.held)]
    if known:
        limits = report.capture.limits
        rows = sorted(
            ((one, holder) for one in known for holder in one.holders),
            key=lambda row: row[1].bytes < TINY * row[0].peak,
        )
        yield tag(
            "div",
            (treemap(one, places.located, limits.get(one.device.partition("–")[0])) for one in known),
            table(
                ("device", "held by", "bytes", "share", "line"),
                (
                    [
                        chip(one.device),
                        GROUP_NAMES[holder.group],
                        sortable(in_words(holder.bytes), holder.bytes),
                        sortable(percent(holder.bytes / one.peak), holder.bytes),
                        link(places, holder.where),
                    ]
                    for one, holder in rows
                ),
                numbers={2, 3},
            ),
            class_="figures",
        )
    seen = [curve for curve in curves(report.capture) if curve.peak]
    if not seen:
        yield tag("p", "No memory was sampled.", class_="empty")
        return
    spans = phases(report.capture)
    end = rounded(max(0.4, *(point[0] for curve in seen for _, points in curve.lines for point in points)))
    if spans:
        yield tag(
            "ul",
            (
                tag("li", tag("span", "", class_=f"swatch {_phase(span)}"), f"{span.phase}: {_seconds(span)}")
                for span in spans
            ),
            class_="legend",
        )
    who = {one.device: holders(one) for one in report.held}
    figures = [_figure(curve, spans, end, who.get(curve.subject, "")) for curve in seen]
    yield tag("div", figures[:CURVES], class_="figures")
    if others := figures[CURVES:]:
        yield tag("details", tag("summary", f"{len(others)} more"), tag("div", others, class_="figures"))


def _equal(held: Iterable[Held]) -> Iterable[list[Held]]:
    """Devices on which the same lines held as much, together."""
    groups: defaultdict[object, list[Held]] = defaultdict(list)
    for one in held:
        if one.holders:
            sizes = tuple((each.group, each.where, in_words(each.bytes)) for each in one.holders)
            groups[sizes, tuple(_amounts(one, None))].append(one)
    return groups.values()


def _together(equal: Sequence[Held]) -> Held:
    """One of several equal devices, named after all of them."""
    return equal[0]._replace(device=listed([one.device for one in equal]))


def treemap(held: Held, located: Callable[[Where], str], limit: int | None = None) -> Element:
    """Holders of a device's memory at its peak: areas are proportional to bytes. `located` is a line as users know it,
    `limit` the memory of a simulated GPU."""
    ordered = sorted((one for one in held.holders if one.bytes), key=lambda one: -one.bytes)
    shown = ordered[:BOXES]
    rest = sum(one.bytes for one in ordered[BOXES:])
    if rest:
        shown.append(Holder(held.device, "other", None, rest))
        shown.sort(key=lambda one: -one.bytes)
    boxes = squarified([one.bytes for one in shown], Box(0, 0, MAP_WIDTH, MAP_HEIGHT))
    said = ", ".join(_amounts(held, limit))
    largest = ", ".join(f"{GROUP_NAMES[one.group]} {in_words(one.bytes)}" for one in shown[:3])
    return tag(
        "figure",
        tag("figcaption", tag("b", f"{device_name(held.device)} memory"), " ", tag("span", said, class_="aside")),
        tag(
            "svg",
            (_box(one, box, located) for one, box in zip(shown, boxes, strict=True)),
            viewBox=f"0 0 {MAP_WIDTH} {MAP_HEIGHT}",
            class_="treemap",
            role="img",
            aria_label=f"{device_name(held.device)} memory, {said}: {largest}",
        ),
    )


def _amounts(held: Held, limit: int | None) -> Iterator[str]:
    """The peak, and what it is easily confused with."""
    if limit and held.peak > limit:  # the peak includes the refused allocation
        yield f"needed {in_words(held.peak)} of {in_words(limit)}"
        return
    yield f"peak {in_words(held.allocator or held.peak)}"
    if held.first is not None and held.first > (held.allocator or held.peak):
        yield f"{in_words(held.first)} in the first steps"
    if held.process is not None and held.device.startswith("GPU"):
        yield f"the process holds {in_words(held.process)}"


def _box(one: Holder, box: Box, located: Callable[[Where], str]) -> Element:
    size = in_words(one.bytes)
    forms = [size]
    if one.where is not None:
        forms = [f"{size} · {located(one.where)}", f"{size} · line {one.where.row}", size]
    lines = [GROUP_NAMES[one.group], forms[0]]
    labels = [[lines[0], lines[0].removeprefix("tensors ")], forms]
    fitting = [label for number, label in enumerate(labels, 1) if box.height >= 8 + 17 * number]
    return tag(
        "g",
        tag("title", ", ".join(lines)),
        tag(
            "rect",
            x=f"{box.x:.1f}",
            y=f"{box.y:.1f}",
            width=f"{box.width:.1f}",
            height=f"{box.height:.1f}",
            class_=f"group-{one.group}",
        ),
        (
            tag("text", shown, x=f"{box.x + 8:.1f}", y=f"{box.y + 4 + 17 * number:.1f}")
            for number, label in enumerate(fitting, 1)
            if (shown := _fitting(label, box.width - 14))
        ),
    )


def _fitting(forms: Sequence[str], width: float) -> str:
    """The first form of a label that fits, else the beginning of the last, "" if next to nothing does. Letters are
    about 6.6 units wide."""
    fits = int(width / 6.6)
    whole = next((text for text in forms if len(text) <= fits), "")
    return whole or (f"{forms[-1][: fits - 1]}…" if fits >= 6 else "")


def _figure(curve: Curve, spans: Sequence[Span], end: float, who: str) -> Element:
    top = _top(curve)
    said = f"{_value(curve, curve.last)} at the end, at most {_value(curve, curve.peak)}"
    if curve.limit and curve.unit == "bytes":
        said += f", limit {in_words(curve.limit)}"
    lines = [(name, _thinned(points)) for name, points in curve.lines]
    names = [
        tag("span", tag("span", "", class_=f"stroke line{number}"), name)
        for number, (name, _) in enumerate(lines)
        if len(lines) > 1
    ]
    return plot(
        [
            tag("b", device_name(curve.subject)),
            " ",
            tag("span", said, class_="aside"),
            tag("span", names, class_="strokes"),
        ],
        [
            *(_area(span, end) for span in spans),
            *(_line(points, end, top, number) for number, (_, points) in enumerate(lines)),
            _limit(curve, top),
        ],
        _reads(curve, lines, end, who),
        [f"{end * part / TICKS:.3g} s" for part in range(TICKS + 1)],
        [_value(curve, top * part / TICKS) for part in range(TICKS, -1, -1)],
        f"{device_name(curve.subject)}: {said}",
    )


def _reads(curve: Curve, lines: Sequence[tuple[str, Points]], end: float, who: str) -> list[Reading]:
    """The values of all lines at each point of the first; `who` held the memory at its highest."""
    reads = []
    highest = max(lines[0][1], key=lambda point: point[1])
    for point in lines[0][1]:
        t = point[0]
        values = [f"{name} {_value(curve, _at(points, t))}" for name, points in lines]
        held = f"; at the peak: {who}" if who and point is highest else ""
        reads.append(Reading(WIDTH * t / end, f"{t:.1f} s: {', '.join(values)}{held}"))
    return reads


def _at(points: Points, t: float) -> float:
    """The value of a line at the point nearest to a time."""
    after = bisect_left(points, (t,))
    return min(points[max(after - 1, 0) : after + 1], key=lambda point: abs(point[0] - t))[1]


def _top(curve: Curve) -> float:
    """Upper end of a curve's scale."""
    if curve.unit == "percent":
        return 100.0
    unit = 1.0
    peak = max(curve.peak, TICKS)
    while peak / TICKS / unit >= 1000:
        unit *= 1024
    return rounded(peak / unit) * unit


def _line(points: Sequence[tuple[float, float]], end: float, top: float, number: int) -> list[Element]:
    """The first line has its area filled."""
    placed = [(WIDTH * t / end, HEIGHT * (1 - value / top)) for t, value in points]
    if len(placed) == 1:
        placed.append((placed[0][0] + 2, placed[0][1]))
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in placed)
    drawn = tag("path", d=f"M{path}", class_=f"line{number}")
    if number:
        return [drawn]
    area = f"M{placed[0][0]:.1f} {HEIGHT}L{path}L{placed[-1][0]:.1f} {HEIGHT}Z"
    return [tag("path", d=area, class_="area"), drawn]


def _limit(curve: Curve, top: float) -> Element | None:
    """Drawn only if it is within the scale."""
    if not curve.limit or curve.limit > top or curve.unit == "percent":
        return None
    y = f"{HEIGHT * (1 - curve.limit / top):.1f}"
    return tag("line", x1=0, x2=WIDTH, y1=y, y2=y, class_="limit")


def _area(span: Span, end: float) -> Element:
    x, width = WIDTH * span.begin / end, WIDTH * (span.end - span.begin) / end
    return tag("rect", x=f"{x:.1f}", y=0, width=f"{max(width, 0):.1f}", height=HEIGHT, class_=_phase(span))


def _phase(span: Span) -> str:
    return {"build": "phase0", "warm-up": "phase1", "steps": "phase2"}.get(span.phase, "phase0")


def _seconds(span: Span) -> str:
    return f"{span.begin:.1f} to {span.end:.1f} s"


def _value(curve: Curve, value: float) -> str:
    return in_words(value) if curve.unit == "bytes" else f"{value:.0f} %"


def _thinned(points: Points) -> Points:
    """At most MOST points, each the maximum of its neighbours, so that peaks survive."""
    if len(points) <= MOST:
        chosen = list(points)
    else:
        edges = [len(points) * number // MOST for number in range(MOST + 1)]
        chosen = [max(points[first:behind], key=lambda point: point[1]) for first, behind in pairwise(edges)]
    return tuple((round(t, 3), value) for t, value in chosen)
