"""The probe's report as JUnit XML: a test case for each expectation."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter

from gpulint.probe.expectation import Expectation, Status
from gpulint.probe.report import Report

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot have."""


def render(report: Report, color: bool = False) -> str:
    """One suite. A violation of level error is a failure; a warning passes with its text; what is skipped or
    inconclusive is skipped with its reason. The program's own failure is an error of the suite's last case."""
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
    if report.capture.simulated:
        properties = ElementTree.SubElement(suite, "properties")
        ElementTree.SubElement(properties, "property", name="simulated", value=str(report.capture.simulated))
    for one in report.expectations:
        suite.append(_case(one))
    program = ElementTree.SubElement(suite, "testcase", classname="program", name="comes to its end")
    if failed:
        message = _clean(report.capture.error or f"status {end.get('status')}, signal {end.get('signal')}")
        ElementTree.SubElement(program, "error", message=message.split("\n")[0]).text = message
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'


def _case(one: Expectation) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=_clean(one.code or one.id), name=_clean(one.subject))
    if one.where is not None:
        case.set("file", _clean(one.where.path))
        case.set("line", str(one.where.row))
    text = _clean(f"expected: {one.expected}\nobserved: {one.observed}")
    text += "".join(f"\n{_clean(line)}" for line in one.evidence)
    text += f"\nfix: {_clean(one.fix)}" if one.fix else ""
    if one.status is Status.FAIL:
        ElementTree.SubElement(case, "failure", message=_clean(one.observed)).text = text
    elif one.status in (Status.SKIP, Status.INCONCLUSIVE):
        ElementTree.SubElement(case, "skipped", message=_clean(one.observed))
    elif one.status is Status.WARN:
        ElementTree.SubElement(case, "system-out").text = text
    return case


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
