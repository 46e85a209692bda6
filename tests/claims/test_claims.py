"""The claim of each fixture program with a `# run:` line holds on the installed TensorFlow."""

from __future__ import annotations

import importlib.util
from functools import cache
from importlib.metadata import packages_distributions, version

import pytest

from tests.claims.claim import Claim, parse_claim
from tests.claims.runner import Stage, broken_promises
from tests.programs import ClaimLine, Program, programs

CLAIMS = [(program, line) for program in programs() for line in program.claims]
NAMES = [f"{program.name}:{line.module}:{line.row}" for program, line in CLAIMS]


@cache
def installed_tensorflow() -> tuple[int, ...]:
    """Release of the installed TensorFlow, () without one."""
    if importlib.util.find_spec("tensorflow") is None:
        return ()
    distribution = packages_distributions()["tensorflow"][0]
    return tuple(int(part) for part in version(distribution).split(".")[:2])


@pytest.mark.tensorflow
@pytest.mark.skipif(not installed_tensorflow(), reason="TensorFlow is not installed")
@pytest.mark.parametrize(("program", "line"), CLAIMS, ids=NAMES)
def test_the_program_does_what_it_claims(program: Program, line: ClaimLine, stage: Stage) -> None:
    claim = parse_claim(line.text)
    if installed_tensorflow() < claim.since:
        return
    performance = stage.perform(program.root / line.module, claim)
    broken = broken_promises(program, line.module, claim, performance)
    shown = f"\n--- standard output\n{performance.stdout[-1500:]}\n--- standard error\n{performance.stderr[-3000:]}"
    assert not broken, "\n".join(broken) + shown


@pytest.mark.parametrize(("program", "line"), CLAIMS, ids=NAMES)
def test_the_claim_can_be_read(program: Program, line: ClaimLine) -> None:
    assert isinstance(parse_claim(line.text), Claim), program.name


@pytest.mark.parametrize("line", ["", "devices=2", "ok raises=ValueError", "ok here", "okay", "busy=two ok"])
def test_a_line_outside_the_vocabulary_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        parse_claim(line)
