"""The section Checks: expected and observed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element

from gpulint.probe.advice.coverage import is_covered
from gpulint.probe.expectations.expectation import Expectation, Status
from gpulint.probe.report import RunReport
from gpulint.probe.report.page.markup import Child, tag
from gpulint.probe.report.page.parts import badge, link, prose
from gpulint.probe.report.page.places import Places

_WORDS = {
    Status.FAIL: ("failed", "failed"),
    Status.WARN: ("warning", "warnings"),
    Status.INCONCLUSIVE: ("inconclusive", "inconclusive"),
    Status.SKIP: ("not applicable", "not applicable"),
    Status.PASS: ("passed", "passed"),
}

_QUIET = (Status.PASS, Status.SKIP)


def section(report: RunReport, places: Places) -> Iterator[Child]:
    """Failed checks with evidence and fix; those that passed or did not apply are folded."""
    counts = Counter(one.status for one in report.expectations)
    yield counts_of(counts)
    yield _table([one for one in report.expectations if one.status not in _QUIET], places)
    quiet = [one for one in report.expectations if one.status in _QUIET]
    if quiet:
        quiet.sort(key=lambda one: _QUIET.index(one.status))
        yield tag(
            "details",
            tag("summary", ", ".join(_counted(counts, status) for status in _QUIET if counts[status])),
            _table(quiet, places),
            class_="more",
            open=len(quiet) == len(report.expectations),
        )


def violations(report: RunReport, places: Places) -> Child:
    """Checks that failed or warn, unless advice covers them."""
    shown = [one for one in report.expectations if one.status in (Status.FAIL, Status.WARN)]
    return _table([one for one in shown if not is_covered(one, report.advice)], places)


def counts_of(counts: Mapping[Status, int], href: str | None = None) -> Element:
    """The number of checks of each status; `href` links to them."""
    if not any(counts.values()):
        return tag("p", "There was nothing to check.", class_="empty")
    return tag(
        "ul",
        (
            tag(
                "li",
                tag("a", _counted(counts, status), href=href) if href else _counted(counts, status),
                class_=f"count {status.value}",
            )
            for status in Status
            if counts.get(status)
        ),
        class_="counts",
    )


def _counted(counts: Mapping[Status, int], status: Status) -> str:
    number = counts[status]
    return f"{number:,} {_WORDS[status][number != 1]}"


def _table(expectations: Sequence[Expectation], places: Places) -> Child:
    if not expectations:
        return None
    names = ("", "check", "expected", "observed", "where")
    return tag(
        "div",
        tag(
            "table",
            tag("thead", tag("tr", (tag("th", name, scope="col") for name in names))),
            tag("tbody", (_row(one, places) for one in expectations)),
            class_="expectations",
        ),
        class_="scroll data",
    )


def _row(one: Expectation, places: Places) -> Element:
    return tag(
        "tr",
        tag("td", badge(one.status)),
        tag(
            "td",
            [tag("span", one.code, class_="rule"), " "] if one.code else None,
            prose(one.subject),
            tag("ul", (tag("li", prose(line)) for line in one.evidence), class_="evidence") if one.evidence else None,
            tag("p", tag("b", "Fix: "), prose(f"{one.fix}."), class_="fix") if one.fix else None,
            data_name="check",
        ),
        tag("td", prose(one.expected), data_name="expected"),
        tag("td", prose(one.observed), data_name="observed"),
        tag("td", link(places, one.where), data_name="where"),
    )
