"""Captures and findings of one program, for the tests of checks."""

from __future__ import annotations

from collections import Counter

from gpulint.linting.finding import Finding, Related, Severity
from gpulint.places import Span
from gpulint.probe.capture.contents import Capture, Log
from gpulint.probe.capture.records import (
    Execution,
    Node,
    Sample,
    Steps,
    Strategy,
    Variable,
    Where,
)
from gpulint.probe.checks.verify import verify
from gpulint.probe.expectations.expectation import Expectation, Run, Status

MADE, USED = Where("/p/a.py", 4), Where("/p/a.py", 9)
MIRRORED = Strategy(1, "MirroredStrategy", ("CPU:0", "CPU:1"), 2, Where("/p/a.py", 2))


def variable(device: str, size: int = 64, where: Where = MADE, name: str = "kernel") -> Variable:
    return Variable(name, (size // 4,), "float32", size, device, where)


GIB = 1 << 30
CREATED = (
    "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 8192 MB memory:  -> device: 0, name: Tesla K80, "
    "pci bus id: 0000:86:00.0, compute capability: 3.7"
)


def ran(op: str, requested: str, device: str, where: Where = USED) -> Counter[Execution]:
    return Counter({Execution(where, op, requested, device): 3})


def finding(code: str, row: int, *related: int, severity: Severity = Severity.ERROR) -> Finding:
    span = Span("/p/a.py", row, 1, row, 9)
    places = tuple(Related(Span("/p/a.py", other, 1, other, 9), "made here") for other in related)
    return Finding(code, "some-rule", severity, span, "something is wrong", instead="do it right", related=places)


def said(capture: Capture, *findings: Finding) -> dict[str, tuple[Status, str]]:
    """Status and code by id of the check."""
    return {one.id: (one.status, one.code) for one in verify(Run(capture, findings))}


def stepped(taken: int, name: str = "step") -> dict[tuple[str, Where | None], Steps]:
    return {(name, USED): Steps(name, USED, taken, 1.0, 0.1)}


def spread(*variables: Variable, busy: tuple[str, ...] = ("CPU:0", "CPU:1")) -> Capture:
    nodes = Counter({Node(USED, "MatMul", "", device, "", part="step"): 1 for device in busy})
    return Capture(strategies=[MIRRORED], variables=list(variables), nodes=nodes, steps=stepped(9))


def over_steps(*current: int, device: str = "GPU:0") -> Capture:
    """A program on a card of 8 GiB whose memory had these sizes, a second apart."""
    samples = [Sample(float(t), "steps", {device: (size, size)}) for t, size in enumerate(current)]
    return Capture(memory=samples, logs={"stderr": Log(messages=[CREATED])}, executions=ran("MatMul", "", device))


WITH_GPU = {"physical": ("CPU:0", "GPU:0"), "logical": ("CPU:0", "GPU:0")}


def one_of(capture: Capture, id: str) -> Expectation:
    (found,) = [one for one in verify(Run(capture)) if one.id == id]
    return found


def eager(busy: int, taken: int, name: str = "step") -> Capture:
    """Steps, some of which followed 40 operations each."""
    steps = Steps(name, USED, taken, 1.0, 0.1, busy, 40 * busy)
    return Capture(steps={(name, USED): steps}, executions=ran("MatMul", "", "CPU:0"))
