"""Hand-written captures, findings and lines, for tests of advice."""

from __future__ import annotations

from collections import Counter
from typing import Any

from gpulint.linting.finding import Finding, Severity
from gpulint.places import Span
from gpulint.probe.advice.advice import Advice
from gpulint.probe.advice.advise import advise
from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Data, Node, Steps, Where
from gpulint.probe.measures.time_spent import PartAt, PhaseTime, TimeSpent, Tracing
from tests.probe.advice.times import spent

HERE = Where("/p/train.py", 20)

THERE = Where("/p/train.py", 6)

OTHER = Where("/p/data.py", 3)

GPUS = ("CPU:0", "GPU:0", "GPU:1")


def capture(**contents: Any) -> Capture:
    taken = {("train", HERE): Steps("train", HERE, 100, 1.0, 0.1)}
    return Capture(**{"logical": ("CPU:0", "GPU:0"), "steps": taken, "end": {"status": 0}, **contents})


def finding(code: str, where: Where, message: str = "message", instead: str = "instead") -> Finding:
    span = Span(where.path, where.row, 1, where.row, 9)
    return Finding(code, code.lower(), Severity.WARNING, span, message, instead=instead)


def first(time: TimeSpent, seen: Capture, *findings: Finding) -> Advice:
    return advise(seen, findings, time)[0]


def phase(name: str, where: Where) -> PhaseTime:
    return PhaseTime(name, 0.0, 1.0, 10, (), where)


def input_at(where: Where | None, seconds: float = 9.0, count: int = 100) -> PartAt:
    return PartAt("input", where, seconds, count, "next")


def opened(where: Where, times: int) -> list[PartAt]:
    return [PartAt("input", where, 4.0, times, "iter")]


def tracing(name: str, kind: str, count: int, seconds: float, again: int, *causes: str) -> Tracing:
    """Traces or compilations of equal duration."""
    return Tracing(name, THERE, kind, count, seconds, causes, again, seconds * again / count)


def eager(operations: int) -> Capture:
    return capture(
        steps={(EAGER_STEP, HERE): Steps(EAGER_STEP, HERE, 100, 1.0, 0.1)},
        taken=Counter({"steps": 100}),
        eager=Counter({("steps", "MatMul"): 100 * operations, ("steps", "Const"): 10_000}),
    )


def heavy(dtype: str) -> Capture:
    return capture(nodes=Counter({Node(THERE, "MatMul", "", "GPU:0", "", dtype, "step"): 4}))


FITTED = capture(data=Counter({Data(HERE, "arrays", 0, 32): 1}))

TRACED = PartAt("trace", HERE, 8.0, 9, "train")

WAITING = spent({"input": 9.0, "launch": 1.0}, by_line=[input_at(HERE)])
