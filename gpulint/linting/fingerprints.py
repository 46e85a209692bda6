"""Fingerprints: they identify a finding while the lines around it change."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence

from gpulint.linting.files import Files
from gpulint.linting.finding import Finding
from gpulint.places import Span
from gpulint.settings import SettingsFinder
from gpulint.sources.containment import relative_to


def fingerprints(found: Iterable[Finding], files: Files, finder: SettingsFinder) -> dict[Finding, str]:
    """Hashes of rule, path, enclosing definition, text of the span, and ordinal among findings that agree in all these.

    `found` includes silenced findings, so that a suppression comment changes the ordinal of no other finding.
    """
    counts: Counter[str] = Counter()
    result = {}
    for finding in found:
        span = finding.span
        text = " ".join(_text_of(files.lines(os.path.abspath(span.path), span.cell), span).split())
        path = relative_to(span.path, finder.of_file(span.path).root)
        base = "\0".join((finding.code, path.replace(os.sep, "/"), finding.context, text))
        counts[base] += 1
        result[finding] = hashlib.sha256(f"{base}\0{counts[base]}".encode(errors="replace")).hexdigest()[:16]
    return result


def _text_of(lines: Sequence[str], span: Span) -> str:
    lines = lines[span.row - 1 : span.end_row]
    if not lines:
        return ""
    if len(lines) == 1:
        return lines[0][span.column - 1 : span.end_column - 1]
    return "\n".join((lines[0][span.column - 1 :], *lines[1:-1], lines[-1][: span.end_column - 1]))
