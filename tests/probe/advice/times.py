"""Hand-written times of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpulint.probe.advice.advise import NO_TRAINING
from gpulint.probe.measures.time_spent import (
    DeviceTime,
    PartAt,
    PhaseTime,
    PipelineStage,
    StepTime,
    TimeSpent,
    Tracing,
    parts_of,
)
from gpulint.probe.measures.training_time import UNRECORDED


def spent(
    parts: dict[str, float],
    steps: int = 100,
    by_line: Sequence[PartAt] = (),
    busy: dict[str, float | None] | None = None,
    operations: float | None = None,
    launch_cost: float | None = None,
    tracings: Sequence[Tracing] = (),
    phases: Sequence[PhaseTime] = (),
    pipeline: Sequence[PipelineStage] = (),
    unrecorded: float = 0.0,
) -> TimeSpent:
    """Equal steps that spend `parts` seconds in all, and others of which a capture does not tell. `busy`: the busy
    share of devices that the tracer saw."""
    seconds = sum(parts.values()) + unrecorded
    each = {name: value / steps for name, value in parts.items()}
    return replace(
        NO_TRAINING,
        seconds=seconds,
        steps=steps,
        step_median=seconds / steps,
        step_p95=seconds / steps,
        parts=parts_of({**parts, UNRECORDED: unrecorded}, seconds),
        unrecorded=unrecorded,
        by_line=tuple(by_line),
        each=tuple(StepTime(number, number * seconds / steps, seconds / steps, each) for number in range(1, steps + 1)),
        devices=tuple(DeviceTime(device, share, 10.0, "tracer") for device, share in (busy or {}).items()),
        operations_per_step=operations,
        launch_cost=launch_cost,
        tracings=tuple(tracings),
        phases=tuple(phases),
        pipeline=tuple(pipeline),
        why_unknown="" if busy else "the device tracer did not run",
    )
