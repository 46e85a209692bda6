"""Drawings that can be read with the pointer and the keyboard: a plot with a readout, and a bar of parts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from gpulint.output.escapes import json_dumps
from gpulint.probe.measures.time_words import duration, part_name, percent
from gpulint.probe.report.page.markup import Child, tag

WIDTH, HEIGHT = 1000, 200
"""Size of a drawing, which is stretched to the width of its column; labels are outside it."""

TICKS = 4
"""Parts of each scale."""

_STEPS = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
"""Readable parts of a scale, times a power of ten."""


class Reading(NamedTuple):
    """Text for a position on the horizontal axis of a drawing, in its units."""

    x: float
    text: str


def plot(
    caption: Child, shapes: Child, reads: Sequence[Reading], x_ticks: Iterable[str], y_ticks: Iterable[str], said: str
) -> Element:
    """A drawing with both scales and a readout below. `y_ticks` go from the top down; `said` is read aloud."""
    return tag(
        "figure",
        tag("figcaption", caption),
        tag(
            "div",
            tag("div", (tag("span", tick) for tick in y_ticks), class_="y", aria_hidden="true"),
            tag(
                "svg",
                (_rule(part) for part in range(1, TICKS)),
                shapes,
                tag("line", y1=0, y2=HEIGHT, class_="cursor", visibility="hidden"),
                viewBox=f"0 0 {WIDTH} {HEIGHT}",
                preserveAspectRatio="none",
                role="img",
                tabindex=0,
                aria_label=said,
                data_reads=json_dumps([[round(x, 1), text] for x, text in reads], ensure_ascii=True),
            ),
            tag("div", class_="corner"),
            tag("div", (tag("span", tick) for tick in x_ticks), class_="x", aria_hidden="true"),
            class_="plot",
        ),
        tag("output", class_="readout"),
    )


def rounded(greatest: float) -> float:
    """End of a scale: TICKS times a round number, so that every tick is round."""
    part = max(greatest, 1e-9) / TICKS
    power = 10 ** math.floor(math.log10(part))
    step = next(step for step in _STEPS if part <= step * power * (1 + 1e-9))
    return float(TICKS * power * step)


def bar(parts: Sequence[tuple[str, float]], said: str) -> Element:
    """Parts of a whole side by side: (name of the part, share)."""
    x = 0.0
    shapes = []
    for name, share in parts:
        shapes.append(
            tag(
                "rect",
                tag("title", f"{name}: {percent(share)}"),
                x=f"{WIDTH * x:.2f}",
                y=0,
                width=f"{WIDTH * share:.2f}",
                height=HEIGHT,
                class_=f"part-{name}",
            )
        )
        x += share
    return tag(
        "svg",
        shapes,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        class_="bar",
        role="img",
        aria_label=said,
    )


def legend(parts: Iterable[tuple[str, str]], on_gpu: bool, aside: str = "") -> Element:
    """The colours of parts, with what is said of each, and a remark at the end."""
    return tag(
        "ul",
        (
            tag("li", tag("span", "", class_=f"swatch part-{name}"), f"{part_name(name, on_gpu)} {text}".strip())
            for name, text in parts
        ),
        tag("li", aside, class_="aside") if aside else None,
        class_="legend",
    )


def in_milliseconds(parts: Iterable[tuple[str, float]], on_gpu: bool) -> str:
    """Parts of a step in words, the longest first."""
    ordered = sorted(parts, key=lambda part: -part[1])
    return ", ".join(f"{part_name(name, on_gpu)} {duration(seconds)}" for name, seconds in ordered if seconds > 0)


def _rule(part: int) -> Element:
    y = HEIGHT * part / TICKS
    return tag("line", x1=0, x2=WIDTH, y1=y, y2=y, class_="rule")
