"""The order of findings for people: the most expensive first."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpulint.linting.finding import Finding, Severity

_SEVERITIES = tuple(Severity)

_FAMILIES = ("GPU2", "GPU7", "GPU1", "GPU5", "GPU4", "GPU3", "GPU6", "GPU9")
"""Families of rules, the most expensive first: GPUs that idle, time in every step, memory, numerics, removed names.
Others come last."""


_FACTOR = re.compile(r"(?<![0-9])([0-9]{1,6})× slower")
"""The factor in a cost text."""


def by_cost(findings: Iterable[Finding]) -> list[Finding]:
    """Findings sorted by severity, then by the cost of their family, then by the factor that their own cost text
    states. Those that are equal stay in the given order."""
    return sorted(findings, key=_rank)


def _rank(finding: Finding) -> tuple[int, int, int]:
    family = finding.code[:4]
    factor = _FACTOR.search(finding.cost)
    return (
        _SEVERITIES.index(finding.severity),
        _FAMILIES.index(family) if family in _FAMILIES else len(_FAMILIES),
        -int(factor[1]) if factor is not None else 0,
    )
