"""The section Memory: curves over the run, as SVG."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from xml.etree.ElementTree import Element

from gpulint.probe.measures.curves import Curve, Points, Span, curves, phases
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.report import RunReport
from gpulint.probe.report.page.markup import Child, tag

WIDTH, HEIGHT = 1000, 200
"""Size of a drawing, which is stretched to the page's width; labels are outside it."""

MOST = 500
"""Points of a line; more are not visible."""

TICKS = 4
"""Parts of each scale."""


_STEPS = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
"""Readable parts of a scale, times a power of ten."""


def section(report: RunReport) -> Iterator[Child]:
    """The phases, and a drawing for each device, card, and the host."""
    seen = curves(report.capture)
    if not seen:
        yield tag("p", "No memory was sampled.", class_="empty")
        return
    spans = phases(report.capture)
    end = _round(max(point[0] for curve in seen for _, points in curve.lines for point in points))
    if spans:
        yield tag(
            "ul",
            (
                tag("li", tag("span", "", class_=f"swatch {_phase(span)}"), f"{span.phase}: {_seconds(span)}")
                for span in spans
            ),
            class_="legend",
        )
    yield tag("div", (_figure(curve, spans, end) for curve in seen), class_="figures")


def _figure(curve: Curve, spans: Sequence[Span], end: float) -> Element:
    top = _top(curve)
    said = f"{_value(curve, curve.last)} at the end, at most {_value(curve, curve.peak)}"
    if curve.limit and curve.unit == "bytes":
        said += f", limit {in_words(curve.limit)}"
    lines = [(name, _thinned(points)) for name, points in curve.lines]
    times = [f"{end * part / TICKS:.3g} s" for part in range(TICKS + 1)]
    ticks = [_value(curve, top * part / TICKS) for part in range(TICKS, -1, -1)]
    return tag(
        "figure",
        tag("figcaption", tag("b", curve.subject), " ", tag("span", said, class_="aside")),
        tag(
            "div",
            tag("div", (tag("span", tick) for tick in ticks), class_="y", aria_hidden="true"),
            tag(
                "svg",
                (_area(span, end) for span in spans),
                (_rule(part) for part in range(1, TICKS)),
                (_line(points, end, top, number) for number, (_, points) in enumerate(lines)),
                _limit(curve, top),
                tag("line", y1=0, y2=HEIGHT, class_="cursor", visibility="hidden"),
                viewBox=f"0 0 {WIDTH} {HEIGHT}",
                preserveAspectRatio="none",
                role="img",
                tabindex=0,
                aria_label=f"{curve.subject}: {said}",
                data_lines=json.dumps([[name, points] for name, points in lines]),
                data_unit=curve.unit,
                data_end=f"{end:.3f}",
            ),
            tag("div", class_="corner"),
            tag("div", (tag("span", time) for time in times), class_="x", aria_hidden="true"),
            class_="plot",
        ),
        tag(
            "p",
            (
                tag("span", tag("span", "", class_=f"stroke line{number}"), name)
                for number, (name, _) in enumerate(lines)
                if len(lines) > 1
            ),
            tag("output", class_="aside"),
            class_="legend",
        ),
    )


def _top(curve: Curve) -> float:
    """Upper end of a curve's scale."""
    if curve.unit == "percent":
        return 100.0
    unit = 1.0
    peak = max(curve.peak, TICKS)
    while peak / TICKS / unit >= 1000:
        unit *= 1024
    return _round(peak / unit) * unit


def _round(greatest: float) -> float:
    """End of a scale: TICKS times a round number, so that every tick is round."""
    part = max(greatest, 0.4) / TICKS
    power = 10 ** math.floor(math.log10(part))
    step = next(step for step in _STEPS if part <= step * power * (1 + 1e-9))
    return float(TICKS * power * step)


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


def _rule(part: int) -> Element:
    y = HEIGHT * part / TICKS
    return tag("line", x1=0, x2=WIDTH, y1=y, y2=y, class_="rule")


def _phase(span: Span) -> str:
    return {"build": "phase0", "warm-up": "phase1", "steps": "phase2"}.get(span.phase, "phase0")


def _seconds(span: Span) -> str:
    return f"{span.begin:.1f} to {span.end:.1f} s"


def _value(curve: Curve, value: float) -> str:
    return in_words(value) if curve.unit == "bytes" else f"{value:.0f} %"


def _thinned(points: Points) -> list[tuple[float, float]]:
    """At most MOST points, each the maximum of its neighbours, so that peaks survive."""
    if len(points) <= MOST:
        chosen = list(points)
    else:
        edges = [len(points) * number // MOST for number in range(MOST + 1)]
        chosen = [max(points[first:behind], key=lambda point: point[1]) for first, behind in pairwise(edges)]
    return [(round(t, 3), value) for t, value in chosen]
