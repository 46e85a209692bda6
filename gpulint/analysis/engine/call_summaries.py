"""How often functions are run, and what stands for a further run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gpulint.analysis.domain.path_conditions import Path
from gpulint.analysis.domain.values.base import Union, Value
from gpulint.analysis.domain.values.effects import Effect

MAX_IDLE_RUNS = 2
"""Runs of a function that does nothing of note, after which it is not run again."""

MAX_FORMULA_RUNS = 200
"""Runs of a function that does nothing but arithmetic: what it gives changes with the numbers that it is given."""

MAX_RUNS = 10
"""Runs of one function in one program; later calls give Unknown, or the tensors that earlier ones gave."""

MAX_MAKING_STEPS = 1_000
"""Steps of all runs of a function that makes objects or functions, until which there may be more of them."""

MAX_COMPUTING_STEPS = 1_500
"""Steps after which a function that does nothing but compute tensors is taken to give later what it gave before."""


class CallSummary(NamedTuple):
    """One run of a function: the path after it, its result, the stateful operations in it, how many there were in all,
    and the round of the loop around those that were gone through one by one."""

    path: Path
    result: Value
    effects: tuple[Effect, ...]
    operations: int
    turn: int


@dataclass(slots=True)
class FunctionProfile:
    """The runs of one function in a program so far."""

    runs: int = 0

    steps: int = 0
    """What they took together."""

    idle: int = 0
    """Those that did nothing of note."""

    makes: bool = False
    """One gave something else than tensors, numbers and what is not known."""

    computes: bool = True
    """None did more than compute tensors."""

    last: CallSummary | None = None

    @property
    def may_go_on(self) -> bool:
        """Whether it may be run with other arguments."""
        makes_more = self.makes and self.runs < MAX_FORMULA_RUNS and self.steps < MAX_MAKING_STEPS
        return self.runs < MAX_RUNS or makes_more

    @property
    def is_settled(self) -> bool:
        """Whether it was run long enough to tell what it gives."""
        return self.computes and self.steps >= MAX_COMPUTING_STEPS

    def alike(self, earlier: list[CallSummary]) -> CallSummary | None:
        """The run that stands for another one: the last of those like it, or the last of one that only computes, unless
        that gave something under conditions of its own."""
        if earlier:
            return earlier[-1]
        return self.last if self.computes and self.last is not None and type(self.last.result) is not Union else None
