"""The part of an estimate that runs inside the program: it waits for the training step, writes its graph and ends the
program. The probe's agent loads it (`Options.extension`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def extend(tensorflow: Any, places: Any, simulation: Any, settings: Mapping[str, Any]) -> None:
    """TensorFlow has just been imported, with simulated GPUs."""
    from gpulint.estimate.agent.steps import Settings, StepWatch

    shapes = {name: tuple(shape) for name, shape in settings.get("shapes", {}).items()}
    StepWatch(
        Settings(settings["output"], settings["stages"], settings.get("batch"), shapes, settings.get("gpus", 1)),
        places,
        simulation.seen,
        simulation.for_real_kernels,
        simulation.for_reading,
    ).install()
