"""The claim of each fixture program with a `# run:` line holds on the installed TensorFlow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.claims import record
from tests.claims.claim import Claim, parse_claim
from tests.claims.record import Case
from tests.claims.runner import Stage, broken_promises

CASES = record.cases()
SAMPLE = record.sample(CASES)


def installed_tensorflow() -> tuple[int, ...]:
    """Release of the installed TensorFlow, () without one."""
    release = record.installed().get("tensorflow")
    return tuple(int(part) for part in release.split(".")[:2]) if release else ()


def is_long(case: Case) -> bool:
    """Whether a claim is left to `-m long`."""
    return case not in SAMPLE and record.has_held(case, record.read(), record.installed())


@pytest.mark.tensorflow
@pytest.mark.skipif(not installed_tensorflow(), reason="TensorFlow is not installed")
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=[pytest.mark.long] if is_long(case) else []) for case in CASES],
)
def test_the_program_does_what_it_claims(case: Case, stage: Stage) -> None:
    claim = parse_claim(case.line.text)
    if installed_tensorflow() < claim.since:
        return
    performance = stage.perform(case.program.root / case.line.module, claim)
    broken = broken_promises(case.program, case.line.module, claim, performance)
    shown = f"\n--- standard output\n{performance.stdout[-1500:]}\n--- standard error\n{performance.stderr[-3000:]}"
    assert not broken, "\n".join(broken) + shown


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_claim_can_be_read(case: Case) -> None:
    assert isinstance(parse_claim(case.line.text), Claim)


@pytest.mark.parametrize("line", ["", "devices=2", "ok raises=ValueError", "ok here", "okay", "busy=two ok"])
def test_a_line_outside_the_vocabulary_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        parse_claim(line)


def test_the_sample_uses_the_whole_vocabulary() -> None:
    used = set().union(*(record.words(parse_claim(case.line.text)) for case in CASES))
    assert set().union(*(record.words(parse_claim(case.line.text)) for case in SAMPLE)) == used
    assert len(SAMPLE) < 20 < len(CASES)


def test_a_claim_is_run_again_after_any_change(tmp_path: Path) -> None:
    case, releases = CASES[0], {"tensorflow": "2.21.0", "keras": "3.15.1"}
    recorded = {"releases": releases, "claims": {case.name: record.digest(case)}}
    assert record.has_held(case, recorded, releases)
    assert not record.has_held(case, recorded, releases | {"keras": "3.16.0"})
    assert not record.has_held(case, {**recorded, "claims": {}}, releases)
    (module, text), *others = case.program.modules
    program = replace(case.program, modules=((module, text + "\n"), *others))
    assert not record.has_held(case._replace(program=program), recorded, releases)
    line = case.line._replace(text=case.line.text + " busy=1")
    assert not record.has_held(case._replace(line=line), recorded, releases)
    for path in record.CODE:
        other = tmp_path / path.name
        other.write_text(path.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
        code = tuple(other if one == path else one for one in record.CODE)
        assert record.digest(case, code) != record.digest(case)
