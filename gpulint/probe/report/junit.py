"""The report as JUnit XML: a test case for each expectation."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator

from gpulint.output import xml
from gpulint.probe.advice.words import with_gain
from gpulint.probe.expectations.expectation import Expectation, Status
from gpulint.probe.report import RunReport, located, row_in_file


def render(report: RunReport, color: bool = False) -> str:
    """One suite. A violation of level error is a failure; a warning passes, with its text; skipped and inconclusive
    expectations are skipped, with the reason. A failure of the program is an error of the last case."""
    counts = Counter(one.status for one in report.expectations)
    end = report.capture.end
    failed = bool(end) and end.get("status") != 0
    suite = ElementTree.Element(
        "testsuite",
        name="gpulint probe",
        tests=str(len(report.expectations) + 1),
        failures=str(counts[Status.FAIL]),
        errors=str(int(failed)),
        skipped=str(counts[Status.SKIP] + counts[Status.INCONCLUSIVE]),
        time=f"{report.capture.seconds:.3f}",
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _properties(report):
        ElementTree.SubElement(properties, "property", name=name, value=value)
    for one in report.expectations:
        suite.append(_case(one))
    program = ElementTree.SubElement(suite, "testcase", classname="program", name="comes to its end")
    if failed:
        message = report.capture.error or f"status {end.get('status')}, signal {end.get('signal')}"
        ElementTree.SubElement(program, "error", message=message.split("\n")[0]).text = message
    return xml.document(suite)


def _properties(report: RunReport) -> Iterator[tuple[str, str]]:
    """The answer: the headline, and what to change first."""
    yield "headline", report.headline
    if report.capture.simulated:
        yield "simulated", str(report.capture.simulated)
    for rank, one in enumerate(report.advice, 1):
        place = f"{located(one.where)}: " if one.where is not None else ""
        yield f"advice.{rank}", f"{place}{with_gain(one, rank == 1)}. {one.evidence} {one.fix}"


def _case(one: Expectation) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=one.code or one.id, name=one.subject)
    if one.where is not None:
        case.set("file", one.where.path)
        case.set("line", str(row_in_file(one.where)))
    text = f"expected: {one.expected}\nobserved: {one.observed}"
    text += "".join(f"\n{line}" for line in one.evidence)
    text += f"\nfix: {one.fix}" if one.fix else ""
    if one.status is Status.FAIL:
        ElementTree.SubElement(case, "failure", message=one.observed).text = text
    elif one.status in (Status.SKIP, Status.INCONCLUSIVE):
        ElementTree.SubElement(case, "skipped", message=one.observed)
    elif one.status is Status.WARN:
        ElementTree.SubElement(case, "system-out").text = text
    return case
