"""A comparison for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from gpulint.probe.compare.comparison import Comparison
from gpulint.probe.compare.words import change, headline, value, verdict
from gpulint.probe.report import located
from gpulint.probe.report.layout import DEFAULT, beside, block, printed, rows_of_columns
from gpulint.probe.report.title import title

_STYLES = {"better": "green", "worse": "bold red", "same": "dim", "unknown": "dim"}


def render(comparison: Comparison, color: bool, width: int = DEFAULT) -> str:
    """Both runs, the headline, the measures, and the checks that changed."""
    return printed(_lines(comparison, width), color, width)


def _lines(comparison: Comparison, width: int) -> Iterator[Text]:
    for name, report in (("before  ", comparison.before), ("after   ", comparison.after)):
        yield from (Text(line, style="dim") for line in block(title(report), width, name))
    yield Text()
    yield from (Text(line, style="bold") for line in block(headline(comparison), width))
    for difference in comparison.differences:
        yield from (Text(line, style="yellow") for line in block(difference, width, "different: "))
    if comparison.changes:
        yield Text()
        yield from _table(comparison, width)
    if comparison.verdicts:
        yield Text()
        yield Text("Checks", style="bold")
    for one in comparison.verdicts:
        code = f"{one.check.code} " if one.check.code else ""
        where = located(one.check.where)
        first = f"  {verdict(one)}  "
        for line in beside(f"{code}{one.check.subject}", where, width, f"{first:<9}"):
            yield Text(line, style="red" if one.is_new else "")
        if one.is_new:
            yield from (Text(line) for line in block(one.check.observed, width, " " * 9))


def _table(comparison: Comparison, width: int) -> Iterator[Text]:
    rows = [["", "before", "after", "change"]]
    rows += [
        [one.name, value(one.unit, one.before), value(one.unit, one.after), change(one)] for one in comparison.changes
    ]
    styles = ["dim", *(_STYLES[one.verdict] for one in comparison.changes)]
    for lines, style in zip(rows_of_columns(rows, width, frozenset({1, 2})), styles, strict=True):
        yield from (Text(line, style=style) for line in lines)
