"""The causes of lost time, one module each, with a function that yields candidates for advice."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.causes import input_bound

Cause = Callable[[Observed], Iterator[Candidate]]

CAUSES: tuple[Cause, ...] = (input_bound.candidates,)
"""Every cause."""
