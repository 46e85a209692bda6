"""One stage for all tests that rehearse programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import warm
from tests.simulation.rehearsal import Rehearsed, Stage

Rehearse = Callable[..., Rehearsed]


@pytest.fixture(scope="session")
def stages() -> Stage:
    """Runs programs on simulated GPUs."""
    return Stage(warm.simulating())


@pytest.fixture
def rehearse(stages: Stage, tmp_path: Path) -> Rehearse:
    """Run the text of a program on simulated GPUs; it must end normally. `without`: a private API of TensorFlow that is
    hidden from the agent."""

    def run(text: str, gpus: int, *, ends_well: bool = True, no_jit: bool = False, without: str = "") -> Rehearsed:
        script = tmp_path / "train.py"
        script.write_text(text)
        done = stages.rehearse(script, gpus, no_jit=no_jit, without=without)
        assert not done.capture.faults
        if ends_well:
            assert done.status == 0, done.errors[-3000:]
        return done

    return run
