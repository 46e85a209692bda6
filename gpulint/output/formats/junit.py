"""JUnit XML: a failed test case for each finding."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import groupby

from gpulint.linting.finding import Finding
from gpulint.linting.result import CheckResult
from gpulint.output import xml
from gpulint.output.escapes import first_on_line, printable
from gpulint.output.summary import number
from gpulint.output.view import View, position


def render(result: CheckResult, view: View) -> str:
    """A suite for each file with findings, and one for the run, with a failed case for each fault of gpulint itself."""
    root = ElementTree.Element("testsuites", name="gpulint")
    for path, findings in groupby(result.findings, key=lambda one: one.span.path):
        _suite(root, path, list(findings), view)
    run = ElementTree.SubElement(
        root,
        "testsuite",
        name="gpulint",
        tests=str(max(len(result.errors), 1)),
        failures="0",
        errors=str(len(result.errors)),
    )
    for message, trace in result.errors:
        case = ElementTree.SubElement(run, "testcase", classname="gpulint", name=message)
        ElementTree.SubElement(case, "error", message=message).text = trace
    if not result.errors:
        ElementTree.SubElement(run, "testcase", classname="gpulint", name=f"{number(result.files, 'file')} checked")
    return xml.document(root)


def _suite(root: ElementTree.Element, path: str, findings: list[Finding], view: View) -> None:
    total = str(len(findings))
    suite = ElementTree.SubElement(root, "testsuite", name=path, tests=total, failures=total, errors="0")
    for one in findings:
        place = position(one.span)
        row = str(view.in_file(one.span).row)
        case = ElementTree.SubElement(suite, "testcase", classname=path, name=_name(one), file=path, line=row)
        lines = [f"{first_on_line(path)}:{place}: {one.code} {printable(one.message)}"]
        lines += [f"why: {printable(one.why)}"] if one.why else []
        lines += [f"help: {printable(one.instead)}"] if one.instead else []
        failure = ElementTree.SubElement(case, "failure", type=one.severity.value, message=one.message)
        failure.text = "\n".join(lines)


def _name(finding: Finding) -> str:
    """The name of a test case, which stays the same when lines move: CI systems keep a history by name."""
    where = f" in {finding.context}" if finding.context else ""
    return f"{finding.code} {finding.name}{where} [{finding.fingerprint[:8]}]"
