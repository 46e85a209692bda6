"""Conversion of findings to diagnostics of the protocol."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from lsprotocol import types

from gpulint.linting.finding import Finding, Severity
from gpulint.linting.selection import Catalogue
from gpulint.output.site import url
from gpulint.places import Span

SOURCE = "gpulint"

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}

_TAGS = {"GPU002": types.DiagnosticTag.Unnecessary, "GPU901": types.DiagnosticTag.Deprecated}
"""Tags of a rule's diagnostics: editors fade or strike out the code."""


def diagnostic(finding: Finding, catalogue: Catalogue, locate: Callable[[Span], types.Location]) -> types.Diagnostic:
    """A finding as a diagnostic; `locate` converts spans to locations of the protocol."""
    page = url(finding.code, finding.name) or rule_uri(catalogue, finding.code)
    related = [types.DiagnosticRelatedInformation(locate(one.span), one.message) for one in finding.related]
    return types.Diagnostic(
        range=locate(finding.span).range,
        message=message(finding),
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(page) if page is not None else None,
        source=SOURCE,
        tags=[_TAGS[finding.code]] if finding.code in _TAGS else None,
        related_information=related or None,
        data={"name": finding.name, "fingerprint": finding.fingerprint},
    )


def message(finding: Finding) -> str:
    """Message, cost and remedy, one line each."""
    lines = [finding.message, finding.why, f"instead: {finding.instead}" if finding.instead else ""]
    return "\n".join(line for line in lines if line)


def rule_uri(catalogue: Catalogue, code: str) -> str | None:
    """Where a rule is explained: its module, whose docstring is its page. None for a rule that is in no file."""
    rule = catalogue.rule(code)
    file = getattr(sys.modules.get(rule.__module__), "__file__", None) if rule is not None else None
    return Path(file).absolute().as_uri() if file else None
