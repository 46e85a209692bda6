"""A piece of advice, and the input of the functions that find causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpulint.linting.finding import Finding
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.holders import Held
from gpulint.probe.measures.time_spent import TimeSpent

CAUSES = (
    "input-bound",
    "launch-bound",
    "eager-step",
    "retracing",
    "recompiling",
    "host-reads",
    "slow-python",
    "repeated-calls",
    "new-models",
    "checkpoints",
    "copies",
    "straggler",
    "idle-device",
    "out-of-memory",
    "precision",
)
"""Names of the causes, as in the JSON report."""


class Outside(NamedTuple):
    """Work outside the training steps: `what` in words ("60 `predict` calls"), the seconds that it took, and the
    maximum number of seconds that a change saves."""

    what: str
    seconds: float
    saved: float


@dataclass(frozen=True, slots=True)
class Advice:
    """A change that the run would have gained from.

    `text` is the problem, on one line without a full stop; `evidence` of this run and `fix` are sentences. `seconds`
    and `speedup` are upper bounds of the gain once the advice before it is followed. Advice without which the program
    does not run gains 0 seconds. `speedup` is that of training, or of the whole run if most of the seconds are
    `outside` the training steps; `is_after_outside`: advice of that kind comes before it. `is_timed` is False in a
    rehearsal, whose times are not those of GPUs."""

    cause: str
    code: str | None
    where: Where | None
    text: str
    evidence: str
    fix: str
    seconds: float
    speedup: float
    outside: Outside | None = None
    is_timed: bool = True
    is_after_outside: bool = False

    @property
    def is_outside(self) -> bool:
        """Whether most of the gain is outside the training steps."""
        return self.outside is not None and self.outside.saved > self.seconds / 2

    @property
    def gained(self) -> dict[str, float | None]:
        """Seconds and speedup of JSON reports, null in a rehearsal."""
        is_known = self.is_timed or not self.seconds
        return {"seconds": self.seconds if is_known else None, "speedup": self.speedup if is_known else None}


@dataclass(frozen=True, slots=True)
class Candidate:
    """Advice before its gain is known.

    `cures`: the maximum number of seconds that the change saves of each part of the time; `outside`: the work outside
    the training steps that it saves; `in_proportion`: it saves a share of each part, and so less after other changes;
    `is_urgent`: the program does not run without it.
    """

    cause: str
    where: Where | None
    text: str
    evidence: str
    fix: str
    cures: Mapping[str, float] = field(default_factory=dict)
    code: str | None = None
    outside: Outside | None = None
    in_proportion: bool = False
    is_urgent: bool = False


@dataclass(frozen=True, slots=True)
class Observed:
    """The input of the functions that find causes: a run with the times of its steps, the findings of `gpulint check`,
    and the holders of memory."""

    capture: Capture
    time: TimeSpent
    findings: Sequence[Finding] = ()
    held: Sequence[Held] = ()
