"""How severities look, and the head of a finding: `warning[GPU101] [*]`."""

from __future__ import annotations

from gpulint.linting.finding import Finding, Severity
from gpulint.output.site import url
from gpulint.output.view import View

COLORS = {Severity.ERROR: "1;91", Severity.WARNING: "1;93", Severity.INFO: "1;96"}
"""Bright and bold: dark colors cannot be read on many backgrounds."""


def head(finding: Finding, view: View) -> tuple[str, int]:
    """Severity, code (a link to the rule's page) and the mark of a fix, painted; and its width in columns."""
    style = view.style
    plain = f"{finding.severity.value}[{finding.code}]"
    linked = style.link(style.paint(plain, COLORS[finding.severity]), url(finding.code, finding.name))
    mark = f" [{style.paint('*', '1;92')}]" if view.can_fix(finding) else ""
    return linked + mark, len(plain) + (4 if mark else 0)
