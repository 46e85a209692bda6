"""The order of findings for a person: what costs most comes first."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpulint.linting.finding import Finding, Severity

_SEVERITIES = tuple(Severity)

_FAMILIES = ("GPU2", "GPU7", "GPU1", "GPU5", "GPU4", "GPU3", "GPU6", "GPU9")
"""Families of rules: GPUs that idle, then time in every step, then memory, numerics and removed names; others last."""


_FACTOR = re.compile(r"(?<![0-9])([0-9]{1,6}) × slower")


def by_cost(findings: Iterable[Finding]) -> list[Finding]:
    """Errors, warnings, notes; the same severity by what a finding of the family costs, then by the factor that the
    finding itself states, then in the given order."""
    return sorted(findings, key=_cost)


def _cost(finding: Finding) -> tuple[int, int, int]:
    family = finding.code[:4]
    factor = _FACTOR.search(finding.cost)
    return (
        _SEVERITIES.index(finding.severity),
        _FAMILIES.index(family) if family in _FAMILIES else len(_FAMILIES),
        -int(factor[1]) if factor is not None else 0,
    )
