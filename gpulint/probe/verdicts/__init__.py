"""Verdicts on findings of `gpulint check`, from a run: one module for each family of rules."""

from __future__ import annotations

from gpulint.probe.verdicts import inputs, numerics, placement, runtime, steps, strategies
from gpulint.probe.verdicts.evidence import Decider

DECIDERS: dict[str, Decider] = {
    **placement.DECIDERS,
    **strategies.DECIDERS,
    **runtime.DECIDERS,
    **inputs.DECIDERS,
    **steps.DECIDERS,
    **numerics.DECIDERS,
}
"""By rule code; rules that no run can confirm or refute are missing."""
