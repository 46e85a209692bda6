"""The causes of lost time, one module each, with a function that yields candidates for advice."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.causes import (
    checkpoints,
    copies,
    eager_step,
    host_reads,
    idle_device,
    input_bound,
    launch_bound,
    new_models,
    out_of_memory,
    precision,
    recompiling,
    repeated_calls,
    retracing,
    slow_python,
    straggler,
)

FindCandidates = Callable[[Observed], Iterator[Candidate]]

FIND_CANDIDATES: tuple[FindCandidates, ...] = (
    out_of_memory.candidates,
    input_bound.candidates,
    eager_step.candidates,
    launch_bound.candidates,
    retracing.candidates,
    new_models.candidates,
    recompiling.candidates,
    host_reads.candidates,
    slow_python.candidates,
    repeated_calls.candidates,
    checkpoints.candidates,
    copies.candidates,
    straggler.candidates,
    idle_device.candidates,
    precision.candidates,
)
"""The functions of all causes."""
