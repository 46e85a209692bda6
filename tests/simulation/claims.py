"""Claims about devices (`tests.claims.claim`) on simulated GPUs, and the parts of them that a rehearsal contradicts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpulint.probe.expectations.expectation import Expectation, Status
from tests.claims.claim import Claim, parse_claim
from tests.claims.stage import HEAVY
from tests.programs import Program
from tests.simulation.rehearsal import SECONDS, Rehearsed, Stage

PATIENCE = 30
"""Seconds that a program may run whose claim is that it hangs."""


AT_MOST = {
    "placement/sharded_inference.py": 4,
    "strategies/keyword_spotter.py": 4,
    "training/batch_settings": 4,
}
"""Programs whose own data cannot be spread over more GPUs."""


def is_about(program: Program, claim: Claim, gpus: int) -> bool:
    """Whether a claim applies to this number of GPUs. Claims about configuration (`gpus=`), and those of a program with
    other claims for other numbers, apply to their own number; others also to greater ones."""
    given = _given(claim)
    numbers = {_given(parse_claim(line.text)) for line in program.claims}
    if claim.gpus or len(numbers - {0}) > 1:
        return gpus == given
    return 0 < given <= gpus <= AT_MOST.get(program.name, gpus)


def rehearsed(stage: Stage, program: Program, module: str, claim: Claim, gpus: int) -> list[str]:
    """Run a module on simulated GPUs; return the claims that do not hold, as sentences. Programs that are claimed to
    end normally run without XLA, which Keras would use on a GPU and which hides all operations."""
    seconds = PATIENCE if claim.hangs else SECONDS
    run = stage.rehearse(program.root / module, gpus, claim.args.split(), seconds, no_jit=claim.ok)
    expectations = run.expectations((program.select,) if program.select else ())
    return list(_broken(program, claim, gpus, run, expectations))


def _broken(
    program: Program, claim: Claim, gpus: int, run: Rehearsed, expectations: list[Expectation]
) -> Iterator[str]:
    if run.capture.simulated != gpus:
        yield "the capture does not say that GPUs were simulated"
    yield from (f"fault: {fault}" for fault in run.capture.faults)
    yield from _ending(claim, gpus, run)
    if claim.prints and gpus == _given(claim) and claim.prints not in run.output:
        yield f"should print {claim.prints!r}: {run.output[-300:]}"
    if claim.busy is not None and len(busy := _computing(run)) not in (wanted := _busy(claim, gpus)):
        yield f"{sorted(wanted)} devices should compute, these did: {sorted(busy)}"
    if claim.ok:
        yield from _verdicts(program, gpus == _given(claim) and not claim.gpus, expectations)


def _given(claim: Claim) -> int:
    """The number of GPUs that a claim is about."""
    return claim.gpus or claim.devices


def _ending(claim: Claim, gpus: int, run: Rehearsed) -> Iterator[str]:
    error = run.capture.error
    if claim.hangs:
        return  # not necessarily on the GPUs that it requests
    if run.status < 0:
        yield f"signal {-run.status}: {run.errors[-300:]}"
    elif claim.ok and (run.status or error):
        yield f"should end well: {error[-500:]}"
    elif claim.raises and gpus == _given(claim):
        if not error.startswith(claim.raises):
            yield f"should raise {claim.raises}: {error[-500:]}"
        if claim.text not in error:
            yield f"the message should hold {claim.text!r}: {error[-500:]}"


def _busy(claim: Claim, gpus: int) -> set[int]:
    """Numbers of devices that a program may compute on: one that used all may name them, or take all there are."""
    assert claim.busy is not None
    return {claim.busy, gpus} if claim.busy == claim.devices and not claim.gpus else {claim.busy}


def _computing(run: Rehearsed) -> set[str]:
    placed = [(ran.op, ran.device) for ran in run.capture.executions]
    placed += [(node.op, node.assigned) for node in run.capture.nodes]
    return {device for op, device in placed if op.removeprefix("_Fused") in HEAVY and device}


def _verdicts(program: Program, is_as_claimed: bool, expectations: list[Expectation]) -> Iterator[str]:
    """Only findings that a comment expects are confirmed, and none of these is refuted."""
    expected = {(one.module, one.row, one.code) for one in program.expectations}
    for one in expectations:
        if one.id != "prediction" or one.where is None or not Path(one.where.path).is_relative_to(program.root):
            continue
        key = (Path(one.where.path).relative_to(program.root).as_posix(), one.where.row, one.code)
        if key not in expected and one.status in (Status.FAIL, Status.WARN):
            yield f"confirmed, but no comment expects it: {key}: {one.observed}"
        if key in expected and one.status is Status.PASS and is_as_claimed:
            yield f"refuted, but a comment expects it: {key}: {one.observed}"
