"""Fixture programs under `gpulint probe`: a run confirms their expected findings on their lines, and look-alikes pass.
`benchmarks/probe_fixtures.py` runs all programs; these are quick ones of each family."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.probe.expectations.expectation import Expectation, Status
from tests import warm
from tests.claims.probed import STAGED, probe, runs_of
from tests.claims.test_claims import installed_tensorflow
from tests.programs import Expectation as Place
from tests.programs import programs
from tests.simulation.rehearsal import Rehearsed, Stage

CONFIRMED = {
    "memory/evolve_mlp": {"GPU305"},
    "placement/abbreviated_device.py": {"GPU103"},
    "placement/pinned_classifier.py": {"GPU101"},
    "placement/replica_step_pinned.py": {"GPU104"},
    "placement/two_tower_retrieval.py": {"GPU102", "GPU508"},
    "runtime/allocator_after_model.py": {"GPU302"},
    "runtime/growth_first_card.py": {"GPU303"},
    "runtime/numeric_mask.py": {"GPU304"},
    "strategies/clipped_optimizer.py": {"GPU202"},
    "strategies/forgotten_in_setup.py": {"GPU203"},
    "strategies/keyword_spotter.py": {"GPU213"},
    "strategies/price_regressor.py": {"GPU201"},
    "strategies/sentence_pairs.py": {"GPU205"},
    "training/mirrored_on_one.py": {"GPU101"},
    "training/scoring_run": {"GPU207"},
}
"""Program → codes of the expected findings that its run confirms, each on its own row."""

LOOK_ALIKES = (
    "placement/layers_round_robin.py",
    "runtime/official_growth.py",
    "strategies/autoencoder_nullcontext.py",
    "strategies/keyword_spotter_counted.py",
    *(
        pytest.param(name, marks=pytest.mark.long)
        for name in (
            "placement/device_beside_strategy.py",
            "placement/sharded_inference.py",
            "training/keras3_loss_objects.py",
            "training/one_card_or_many.py",
        )
    ),
)
"""Correct programs that look like wrong ones."""

PROGRAMS = {program.name: program for program in programs()}
pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(not installed_tensorflow(), reason="TensorFlow is not installed"),
]


BY_COMMAND = ("placement/abbreviated_device.py", "runtime/numeric_mask.py", "runtime/official_growth.py")
"""Programs that the command runs in a separate process: two that end with an error, and a correct one."""

SLOW = {"memory/evolve_mlp"}
"""Programs that take longer than all others together."""


@pytest.fixture(scope="module")
def stage() -> Stage:
    """Runs programs under the agent."""
    return Stage(warm.python())


def rehearsed(stage: Stage, name: str) -> tuple[Rehearsed, list[Expectation]]:
    """The capture of a program on logical CPUs that act as GPUs, and the probe's expectations."""
    program = PROGRAMS[name]
    module, claim = runs_of(program)[0]
    given = [str(claim.gpus), str(claim.devices), str(program.root / module), *claim.args.split()]
    done = stage.rehearse(STAGED, 0, given)
    return done, done.expectations((program.select,) if program.select else ())


def judged(name: str, verdict: str, expectations: list[Expectation]) -> set[Place]:
    """The places in a program of findings that a run confirmed, or refuted."""
    root = PROGRAMS[name].root
    return {
        Place(Path(one.where.path).relative_to(root).as_posix(), one.where.row, one.code)
        for one in expectations
        if one.where is not None and Path(one.where.path).is_relative_to(root) and one.observed.startswith(verdict)
    }


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name in SLOW else ())
        for name in CONFIRMED
        if name not in BY_COMMAND
    ],
)
def test_what_the_program_is_expected_to_show_is_confirmed_on_its_line(name: str, stage: Stage) -> None:
    done, expectations = rehearsed(stage, name)
    expected = {place for place in PROGRAMS[name].expectations if place.code in CONFIRMED[name]}
    assert {place.code for place in expected} == CONFIRMED[name]
    assert expected <= judged(name, "confirmed", expectations), (expectations, done.errors)
    assert not judged(name, "refuted", expectations)
    assert not done.capture.faults


@pytest.mark.skipif(installed_tensorflow() == (2, 16), reason="the first step creates variables (docs/simulate.md)")
@pytest.mark.parametrize("name", [name for name in LOOK_ALIKES if name not in BY_COMMAND])
def test_a_program_that_only_looks_like_it_passes(name: str, stage: Stage) -> None:
    done, expectations = rehearsed(stage, name)
    assert [one for one in expectations if one.status in (Status.FAIL, Status.WARN)] == []
    assert (done.status, done.capture.faults) == (0, [])


@pytest.mark.parametrize("name", BY_COMMAND)
def test_the_command_says_the_same(name: str) -> None:
    program = PROGRAMS[name]
    probed = probe(program, *runs_of(program)[0])
    codes = CONFIRMED.get(name, set())
    expected = {place for place in program.expectations if place.code in codes}
    assert {place.code for place in expected} == codes
    assert expected <= probed.confirmed(program.root), probed.report or probed.output
    assert not probed.refuted(program.root)
    assert not probed.report["faults"]
    if not codes:
        assert (probed.status, probed.broken()) == (0, [])
