"""How a run decides what `gpulint check` says of a program: one module for each family of rules."""

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
"""By the code of the rule; what no run can show is not in it."""
