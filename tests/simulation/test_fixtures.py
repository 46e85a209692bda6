"""Fixture programs do what they claim on simulated GPUs (`benchmarks.simulated_fixtures` runs all)."""

from __future__ import annotations

import pytest

from tests.claims.claim import parse_claim
from tests.programs import FIXTURES, Program, read_program
from tests.simulation.claims import is_about, rehearsed
from tests.simulation.rehearsal import Stage

SHOWN = (
    "placement/device_option.py",
    "placement/device_spellings.py",
    "placement/logical_cards.py",
    "placement/replicas_by_hand.py",
    "runtime/forecast",
    "runtime/growth_and_limit_apart.py",
    "runtime/growth_first_card.py",
    "runtime/growth_then_limit.py",
    "runtime/limits_only.py",
    "runtime/masked_then_growth.py",
    "strategies/compiled_closure.py",
    "strategies/fashion_scoped_factory.py",
)


def cases() -> list[tuple[Program, str, str, int]]:
    found = []
    for name in SHOWN:
        program = read_program(FIXTURES / name)
        for line in program.claims:
            claim = parse_claim(line.text)
            gpus = claim.gpus or claim.devices
            if is_about(program, claim, gpus):
                found.append((program, line.module, line.text, gpus))
    return found


CASES = cases()


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("program", "module", "text", "gpus"), CASES, ids=[f"{one[0].name}-{number}" for number, one in enumerate(CASES)]
)
def test_a_fixture_program_does_what_it_claims(
    program: Program, module: str, text: str, gpus: int, stages: Stage
) -> None:
    assert not rehearsed(stages, program, module, parse_claim(text), gpus)
