"""The section Verdict: expected and observed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from gpulint.probe.expectations.expectation import Expectation, Status
from gpulint.probe.report import RunReport
from gpulint.probe.report.failure import failure
from gpulint.probe.report.header import ending
from gpulint.probe.report.page.markup import Child, tag
from gpulint.probe.report.page.parts import badge, link, prose
from gpulint.probe.report.page.places import Places, broken

_PLURAL = {
    Status.FAIL: "broken",
    Status.WARN: "warned of",
    Status.INCONCLUSIVE: "not decided",
    Status.SKIP: "skipped",
    Status.PASS: "hold",
}


def headline(report: RunReport) -> tuple[str, Status]:
    """The run in a few words, and the worst status."""
    counts = Counter(one.status for one in report.expectations)
    ended = ending(report.capture)
    if counts[Status.FAIL]:
        return f"{_counted(counts[Status.FAIL], 'expectation')} broken", Status.FAIL
    if ended:
        return f"{ended[0].upper()}{ended[1:]}", Status.FAIL
    if counts[Status.WARN]:
        return f"{_counted(counts[Status.WARN], 'warning')}, nothing broken", Status.WARN
    if counts[Status.PASS]:
        undecided = counts[Status.INCONCLUSIVE]
        return "Everything that could be decided holds" if undecided else "Every expectation holds", Status.PASS
    return "Nothing was decided", Status.INCONCLUSIVE


def section(report: RunReport, places: Places) -> Iterator[Child]:
    """Violations with evidence and fix; passed expectations are collapsed."""
    counts = Counter(one.status for one in report.expectations)
    if report.expectations:
        yield tag(
            "ul",
            (
                tag("li", tag("b", f"{counts[status]:,}"), f" {_PLURAL[status]}", class_=f"count {status.value}")
                for status in Status
                if counts[status]
            ),
            class_="counts",
        )
    else:
        yield tag("p", "There was nothing to check.", class_="empty")
    if (ended := ending(report.capture)) or report.capture.error:
        yield tag(
            "div",
            tag("b", f"{ended[0].upper()}{ended[1:]}." if ended else "The program raised."),
            tag("pre", "\n".join(failure(report.capture))),
            tag("pre", report.capture.error) if report.capture.error else None,
            class_="ended",
        )
    yield _table(broken(report.expectations), places)
    kept = [one for one in report.expectations if one.status is Status.PASS]
    if kept:
        yield tag(
            "details",
            tag("summary", f"{_counted(len(kept), 'expectation')} that {'holds' if len(kept) == 1 else 'hold'}"),
            _table(kept, places),
            class_="more",
            open=len(kept) == len(report.expectations),
        )


def _table(expectations: Sequence[Expectation], places: Places) -> Child:
    if not expectations:
        return None
    names = ("status", "expectation", "expected", "observed", "where")
    return tag(
        "div",
        tag(
            "table",
            tag("thead", tag("tr", (tag("th", name, scope="col") for name in names))),
            tag("tbody", (_row(one, places) for one in expectations)),
            class_="expectations",
        ),
        class_="scroll",
    )


def _row(one: Expectation, places: Places) -> Element:
    return tag(
        "tr",
        tag("td", badge(one.status), data_name="status"),
        tag(
            "td",
            [tag("span", one.code, class_="rule"), " "] if one.code else None,
            prose(one.subject),
            tag("ul", (tag("li", prose(line)) for line in one.evidence), class_="evidence") if one.evidence else None,
            tag("p", tag("b", "Fix: "), prose(f"{one.fix}."), class_="fix") if one.fix else None,
            data_name="expectation",
        ),
        tag("td", prose(one.expected), data_name="expected"),
        tag("td", prose(one.observed), data_name="observed"),
        tag("td", link(places, one.where), data_name="where"),
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
