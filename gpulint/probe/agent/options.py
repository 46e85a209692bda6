"""What the parent asks of the agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Options:
    """The parent's options. `steps`: end the program after this number of training steps beyond the warm-up; 0 lets
    it run. `warmup`: steps of the warm-up. `log`: the parent reads TensorFlow's placement log, which may stand in for
    evidence that is lost.
    `simulate_gpus`: number of simulated GPUs, 0 for none, with `simulate_memory` bytes each, 0 if unspecified.
    `profile_steps`: training steps after the warm-up that TensorFlow's profiler traces, 0 for none.
    `extension`: a module whose `extend` gets TensorFlow, the places, the simulation and `extension_settings` once
    TensorFlow has been imported; "" for none."""

    capture: str
    steps: int = 0
    warmup: int = 3
    no_jit: bool = False
    log: bool = True
    simulate_gpus: int = 0
    simulate_memory: int = 0
    profile_steps: int = 0
    extension: str = ""
    extension_settings: Mapping[str, Any] = field(default_factory=dict)
