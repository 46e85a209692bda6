"""Fixture programs under `gpulint probe`: what they are expected to show is confirmed on its line by the run, and those
that only look like it pass.

`benchmarks/probe_fixtures.py` runs all of them; these are some of each family that take little time.
"""

from __future__ import annotations

import pytest

from tests.claims.probed import Probed, probe, runs_of
from tests.claims.test_claims import installed_tensorflow
from tests.programs import programs

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
    "training/mirrored_on_one.py": {"GPU211"},
    "training/scoring_run": {"GPU207"},
}
"""Program → the codes of those of its expectations that its run confirms, each on its own row."""

LOOK_ALIKES = (
    "placement/layers_round_robin.py",
    "runtime/official_growth.py",
    "strategies/keyword_spotter_counted.py",
    *(
        pytest.param(name, marks=pytest.mark.long)
        for name in (
            "placement/device_beside_strategy.py",
            "placement/sharded_inference.py",
            "strategies/autoencoder_nullcontext.py",
            "training/keras3_loss_objects.py",
            "training/one_card_or_many.py",
        )
    ),
)
"""Programs that are right and look as if they were not."""

PROGRAMS = {program.name: program for program in programs()}
pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(not installed_tensorflow(), reason="TensorFlow is not installed"),
]


def run(name: str) -> Probed:
    return probe(PROGRAMS[name], *runs_of(PROGRAMS[name])[0])


@pytest.mark.parametrize("name", CONFIRMED)
def test_what_the_program_is_expected_to_show_is_confirmed_on_its_line(name: str) -> None:
    program, probed = PROGRAMS[name], run(name)
    expected = {place for place in program.expectations if place.code in CONFIRMED[name]}
    assert {place.code for place in expected} == CONFIRMED[name]
    assert expected <= probed.confirmed(program.root), probed.report or probed.output
    assert not probed.refuted(program.root)
    assert not probed.report["faults"]


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_program_that_only_looks_like_it_passes(name: str) -> None:
    probed = run(name)
    assert probed.broken() == []
    assert (probed.status, probed.report["faults"]) == (0, [])
