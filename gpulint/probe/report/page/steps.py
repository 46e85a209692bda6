"""The training steps as columns, each with its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from gpulint.probe.measures.time_spent import PARTS, StepTime, TimeSpent
from gpulint.probe.measures.time_words import duration
from gpulint.probe.report.page.figures import HEIGHT, TICKS, WIDTH, Reading, in_milliseconds, plot, rounded
from gpulint.probe.report.page.markup import Child, tag

MOST = 120
"""Columns; with more steps, a column is the mean of several in a row."""

CUT = 3.0
"""Multiple of the 90th percentile at which the scale ends: a single slow step would flatten all others."""


class Column(NamedTuple):
    """Steps `first` to `last`, with their mean seconds and parts, and the longest of them."""

    first: int
    last: int
    seconds: float
    parts: dict[str, float]
    slowest: StepTime

    def text(self, on_gpu: bool) -> str:
        """Text of the readout."""
        parts = in_milliseconds(self.parts.items(), on_gpu)
        if self.first == self.last:
            return f"step {self.first}, {duration(self.seconds)}" + (f": {parts}" if parts else "")
        text = f"steps {self.first} to {self.last}, {duration(self.seconds)} each" + (f": {parts}" if parts else "")
        return f"{text}; slowest: step {self.slowest.number}, {duration(self.slowest.seconds)}"


def columns(each: Sequence[StepTime]) -> list[Column]:
    """At most MOST columns, of equally many steps."""
    size = -(-len(each) // MOST)
    return [_column(each[first : first + size]) for first in range(0, len(each), size or 1)]


def _column(steps: Sequence[StepTime]) -> Column:
    parts: Counter[str] = Counter()
    for step in steps:
        parts.update(step.parts)
    number = len(steps)
    return Column(
        steps[0].number,
        steps[-1].number,
        sum(step.seconds for step in steps) / number,
        {name: seconds / number for name, seconds in parts.items()},
        max(steps, key=lambda step: step.seconds),
    )


def figure(spent: TimeSpent, on_gpu: bool) -> Element | None:
    """The columns with a scale of time. None if no single step was recorded."""
    drawn = columns(spent.each)
    if not drawn:
        return None
    lasts = sorted(column.seconds for column in drawn)
    top = rounded(min(lasts[-1], CUT * lasts[int(0.9 * (len(lasts) - 1))]))
    slowest = max(spent.each, key=lambda step: step.seconds)
    said = f"slowest: step {slowest.number}, {duration(slowest.seconds)}"
    width = WIDTH / len(drawn)
    reads = [Reading((index + 0.5) * width, column.text(on_gpu)) for index, column in enumerate(drawn)]
    return plot(
        [tag("b", "Steps"), " ", tag("span", said, class_="aside")],
        [*_epochs(spent, drawn), *(_stack(column, index, width, top) for index, column in enumerate(drawn))],
        reads,
        [f"step {drawn[0].first}", f"step {drawn[-1].last}"] if len(drawn) > 1 else [f"step {drawn[0].first}"],
        [duration(top * part / TICKS) if part else "0" for part in range(TICKS, -1, -1)],
        f"Time of {len(spent.each):,} steps; {said}",
    )


def _stack(column: Column, index: int, width: float, top: float) -> list[Element]:
    gap = min(width * 0.2, 3)
    x, y = index * width + gap / 2, float(HEIGHT)
    known = [(name, column.parts[name]) for name in PARTS if column.parts.get(name)]
    unknown = column.seconds - sum(seconds for _, seconds in known)
    shapes = []
    for name, seconds in [*known, *([("unrecorded", unknown)] if unknown > 0.001 * column.seconds else [])]:
        height = min(HEIGHT * seconds / top, y)
        y -= height
        shapes.append(
            tag(
                "rect",
                x=f"{x:.1f}",
                y=f"{y:.1f}",
                width=f"{width - gap:.1f}",
                height=f"{height:.1f}",
                class_=f"part-{name}",
            )
        )
    if column.seconds > top:
        shapes.append(tag("path", d=f"M{x:.1f},12 l{width - gap:.1f},-4", class_="cut"))
    return shapes


def _epochs(spent: TimeSpent, drawn: Sequence[Column]) -> Iterator[Child]:
    """A line where a phase begins, unless it is at the start."""
    width = WIDTH / len(drawn)
    ends = {step.number: step.ended for step in spent.each}
    for phase in spent.phases:
        before = [index for index, column in enumerate(drawn) if ends[column.first] <= phase.began]
        if before and before[-1] + 1 < len(drawn):
            x = f"{(before[-1] + 1) * width:.1f}"
            yield tag("line", tag("title", phase.name), x1=x, x2=x, y1=0, y2=HEIGHT, class_="epoch")
