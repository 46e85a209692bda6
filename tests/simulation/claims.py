"""What a claim about devices (`tests.claims.claim`) means on simulated GPUs, and what a rehearsal contradicts of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpulint.probe.expectation import Expectation, Status
from tests.claims.claim import Claim
from tests.claims.stage import HEAVY
from tests.programs import Program
from tests.simulation.rehearsal import Rehearsed, Stage

PATIENCE = 30
"""How long a program may run that is said to hang, in seconds."""

ELSEWHERE = {
    ("placement/device_option.py", "--gpu -1"): "Trying to access resource",
    ("placement/host_side_tables.py", ""): "Trying to access resource",
}
"""Claims that hold where there are CPUs only. Keras compiles with XLA where there is a GPU, and XLA reads no variable of
another device (https://www.tensorflow.org/xla/known_issues): what the error says instead."""


def rehearsed(stage: Stage, program: Program, module: str, claim: Claim, gpus: int) -> list[str]:
    """Runs a module with so many simulated GPUs: what does not hold, one sentence each."""
    seconds = {"seconds": PATIENCE} if claim.hangs else {}
    run = stage.rehearse(program.root / module, gpus, claim.args.split(), **seconds)
    expectations = run.expectations((program.select,) if program.select else ())
    return list(_broken(program, claim, gpus, run, expectations))


def _broken(
    program: Program, claim: Claim, gpus: int, run: Rehearsed, expectations: list[Expectation]
) -> Iterator[str]:
    if run.capture.simulated != gpus:
        yield "the capture does not say that GPUs were simulated"
    yield from (f"fault: {fault}" for fault in run.capture.faults)
    elsewhere = ELSEWHERE.get((program.name, claim.args))
    if elsewhere is not None:
        if elsewhere not in run.capture.error:
            yield f"should end with {elsewhere!r}: {run.capture.error[-300:]}"
        return
    yield from _ending(claim, gpus, run)
    if claim.prints and gpus == _given(claim) and claim.prints not in run.output:
        yield f"should print {claim.prints!r}: {run.output[-300:]}"
    if claim.busy is not None and (wanted := _busy(claim, gpus)) != len(busy := _computing(run)):
        yield f"{wanted} devices should compute, these did: {sorted(busy)}"
    if claim.ok:
        yield from _verdicts(program, gpus == _given(claim), expectations)


def _given(claim: Claim) -> int:
    """The number of GPUs that a claim is about."""
    return claim.gpus or claim.devices


def _ending(claim: Claim, gpus: int, run: Rehearsed) -> Iterator[str]:
    error = run.capture.error
    if claim.hangs:
        return  # on the GPUs that it asks for it need not
    if run.status < 0:
        yield f"signal {-run.status}: {run.errors[-300:]}"
    elif claim.ok and (run.status or error):
        yield f"should end well: {error[-500:]}"
    elif claim.raises and gpus == _given(claim):
        if not error.startswith(claim.raises):
            yield f"should raise {claim.raises}: {error[-500:]}"
        if claim.text not in error:
            yield f"the message should hold {claim.text!r}: {error[-500:]}"


def _busy(claim: Claim, gpus: int) -> int:
    """A program that computes on every device that it is given computes on all simulated GPUs."""
    assert claim.busy is not None
    return gpus if claim.busy == claim.devices else claim.busy


def _computing(run: Rehearsed) -> set[str]:
    placed = [(ran.op, ran.device) for ran in run.capture.executions]
    placed += [(node.op, node.assigned) for node in run.capture.nodes]
    return {device for op, device in placed if op.removeprefix("_Fused") in HEAVY and device}


def _verdicts(program: Program, is_as_claimed: bool, expectations: list[Expectation]) -> Iterator[str]:
    """No finding is confirmed that no comment expects, none refuted that one does."""
    expected = {(one.module, one.row, one.code) for one in program.expectations}
    for one in expectations:
        if one.id != "prediction" or one.where is None or not Path(one.where.path).is_relative_to(program.root):
            continue
        key = (Path(one.where.path).relative_to(program.root).as_posix(), one.where.row, one.code)
        if key not in expected and one.status in (Status.FAIL, Status.WARN):
            yield f"confirmed, but no comment expects it: {key}: {one.observed}"
        if key in expected and one.status is Status.PASS and is_as_claimed:
            yield f"refuted, but a comment expects it: {key}: {one.observed}"
