"""Verdicts on findings of `gpulint check`, from a run: one module for each family of rules."""

from __future__ import annotations

from gpulint.probe.verdicts import inputs, numerics, placement, runtime, steps, strategies
from gpulint.probe.verdicts.evidence import Judge

VERDICTS: dict[str, Judge] = {
    **placement.VERDICTS,
    **strategies.VERDICTS,
    **runtime.VERDICTS,
    **inputs.VERDICTS,
    **steps.VERDICTS,
    **numerics.VERDICTS,
}
"""Code of a rule → the function that judges its findings. Rules that no run can confirm or refute are missing."""
