"""Paths in findings as the user reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpulint.linting.finding import Finding, Related
from gpulint.places import Span
from gpulint.rewriting.fix import Edit
from gpulint.sources.containment import relative_to


def displayed(finding: Finding, shown: Mapping[str, str]) -> Finding:
    """A finding whose paths are those that the user gave (`shown`, by absolute path), or relative to the working
    directory."""

    def display(span: Span) -> Span:
        return span._replace(path=shown.get(span.path) or _relative(span.path))

    related = tuple(Related(display(one.span), one.message) for one in finding.related)
    fix = finding.fix
    if fix is not None:
        fix = replace(fix, edits=tuple(Edit(display(edit.span), edit.content) for edit in fix.edits))
    return replace(finding, span=display(finding.span), related=related, fix=fix)


def _relative(path: str) -> str:
    relative = relative_to(path)
    return path if relative.startswith("..") else relative
