"""SARIF 2.1.0, for code scanning on GitHub, GitLab and Azure DevOps."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from gpulint.confidence import Confidence
from gpulint.linting.finding import Finding, Severity
from gpulint.linting.result import CheckResult
from gpulint.linting.rule import Rule
from gpulint.output import sarif
from gpulint.output.site import url
from gpulint.output.view import View
from gpulint.places import Span
from gpulint.rewriting.fix import Edit

CARRIES_EDITS = True

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(result: CheckResult, view: View) -> str:
    """One run: the enabled rules, findings, silenced findings, and faults of gpulint itself."""
    rules = {rule.code: _rule(rule) for rule in view.rules()}
    for finding in (*result.findings, *(one.finding for one in result.suppressed)):
        rules.setdefault(finding.code, {"id": finding.code, "name": finding.name, **_page(finding.code, finding.name)})
    index = {code: number for number, code in enumerate(rules)}
    results = [_result(one, index, view) for one in result.findings]
    for one in result.suppressed:
        suppression = {"kind": "inSource"} | ({"justification": one.reason} if one.reason else {})
        results.append(_result(one.finding, index, view) | {"suppressions": [suppression]})
    invocation = {
        "executionSuccessful": not result.errors,
        "exitCode": view.status,
        "toolExecutionNotifications": [
            {"level": "error", "message": {"text": message}, "exception": {"message": trace}}
            for message, trace in result.errors
        ],
    }
    return sarif.log(list(rules.values()), results, invocation)


def _rule(rule: type[Rule]) -> dict[str, Any]:
    title, _, page = inspect.cleandoc(rule.__doc__ or "").partition("\n")
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": title},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.instead, "markdown": f"{title}\n{page}"},
        **_page(rule.code, rule.name),
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["tensorflow", "gpu"]},
    }


def _page(code: str, name: str) -> dict[str, str]:
    page = url(code, name)
    return {"helpUri": page} if page else {}


def _result(finding: Finding, index: dict[str, int], view: View) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": _LEVELS[finding.severity],
        "message": sarif.message(_sentences(finding)),
        "locations": [_location(finding.span, view, finding.context)],
        "properties": {"confidence": finding.confidence.value, "evidence": "static"},
        "rank": 100.0 if finding.confidence is Confidence.HIGH else 75.0,
    }
    if finding.fingerprint:
        result["partialFingerprints"] = {"gpulint/v1": finding.fingerprint}
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, **_location(one.span, view), "message": sarif.message(one.message)}
            for number, one in enumerate(finding.related, 1)
        ]
        result["codeFlows"] = [{"threadFlows": [{"locations": _steps(finding, view)}]}]
    if (fix := finding.fix) is not None and finding.span.cell is None:  # in a notebook text is escaped
        result["fixes"] = [{"description": sarif.message(fix.message), "artifactChanges": _changes(fix.edits, view)}]
    return result


def _sentences(finding: Finding) -> str:
    """Message, cost and remedy in one text, as viewers show little else."""
    parts = [finding.message, finding.why, finding.instead]
    return ". ".join(f"{part[0].upper()}{part[1:]}" for part in parts if part) + "."


def _location(span: Span, view: View, context: str = "") -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": sarif.artifact(span.path), "region": _region(span, view)}
    }
    logical = [{"fullyQualifiedName": context, "kind": "function"}] if context else []
    if span.cell is not None:
        logical.append({"name": f"cell {span.cell + 1}", "kind": "module"})
    return location | ({"logicalLocations": logical} if logical else {})


def _region(span: Span, view: View) -> dict[str, int]:
    """Region of a span in the file: viewers do not know the cells of a notebook."""
    span = view.in_file(span)
    return {
        "startLine": span.row,
        "startColumn": span.column,
        "endLine": span.end_row,
        "endColumn": span.end_column,
    }


def _steps(finding: Finding, view: View) -> list[dict[str, Any]]:
    """Code flow to the finding: related places, then its own."""
    steps = [(one.span, one.message) for one in finding.related] + [(finding.span, finding.message)]
    return [
        {"location": {**_location(span, view), "message": sarif.message(message)}, "importance": "essential"}
        for span, message in steps
    ]


def _changes(edits: Iterable[Edit], view: View) -> list[dict[str, Any]]:
    by_path: dict[str, list[dict[str, Any]]] = {}
    for edit in edits:
        replacement = {"deletedRegion": _region(edit.span, view), "insertedContent": {"text": edit.content}}
        by_path.setdefault(edit.span.path, []).append(replacement)
    return [
        {"artifactLocation": sarif.artifact(path), "replacements": replacements}
        for path, replacements in by_path.items()
    ]
