"""Limits on the runs of a function, and the summaries of earlier runs that replace further ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gpulint.analysis.domain.path_conditions import Path
from gpulint.analysis.domain.values.base import Union, Value
from gpulint.analysis.domain.values.effects import Effect

MAX_IDLE_RUNS = 2
"""Number of runs without an effect of interest after which a function is not run again."""

MAX_FORMULA_RUNS = 200
"""Maximum number of runs of a function that only does arithmetic. Its result changes with its arguments."""

MAX_RUNS = 10
"""Maximum number of runs of one function for an entry point, and in each iteration of its loops. Later calls return
Unknown, or the tensors of earlier runs."""

MAX_CHEAP_STEPS = 500
"""Total number of steps up to which a function may exceed `MAX_RUNS`."""

MAX_REPEATED_STEPS = 1_000
"""Total number of steps after which a function is run once more for each further entry point and iteration, instead of
`MAX_RUNS` times."""

MAX_LONG_STEPS = 2_000
"""Total number of steps after which a function has no more than `MAX_RUNS` runs in a program."""

MAX_HELPER_STEPS = 200
"""Mean number of steps of a run up to which a function is run again in the next iteration of the outermost loop, even
if an inner loop there called it with equal arguments in the one before."""

MAX_COMPUTING_STEPS = 1_500
"""Total number of steps after which a function that only computes tensors is assumed to return the same as before."""


class Moment(NamedTuple):
    """Part of a program's run in which the runs of a function are counted: one entry point, and in it one iteration of
    the outermost loop that is not unrolled."""

    entry_point: int
    loop: int
    iteration: int


class CallSummary(NamedTuple):
    """One run of a function.

    `path` is the path after it, `effects` are the stateful ops in it, and `operations` is the number of ops that
    `Machine` counts.
    `iteration` is the one that it ran in: that of the nearest loop that is not unrolled. `moment` is the same for the
    outermost one.
    """

    path: Path
    result: Value
    effects: tuple[Effect, ...]
    operations: int
    iteration: int
    moment: Moment


@dataclass(slots=True)
class FunctionProfile:
    """The runs so far of one function in a program."""

    runs: int = 0

    recent: int = 0
    """Number of runs at the present moment."""

    moment: Moment | None = None

    steps: int = 0
    """Total number of steps of the runs."""

    idle: int = 0
    """Number of runs without an effect of interest."""

    makes: bool = False
    """Whether a run returned something other than tensors, numbers and unknown values."""

    computes: bool = True
    """Whether all runs only computed tensors."""

    last: CallSummary | None = None

    def arrive(self, moment: Moment) -> None:
        """Start the count of recent runs again if `moment` is another one."""
        if moment != self.moment:
            self.moment, self.recent = moment, 0

    @property
    def may_go_on(self) -> bool:
        """Whether it may be run again with different arguments.

        What an earlier entry point or iteration did must not use up the runs of the present one: a step would be
        missing from the loop that takes it.
        """
        if self.runs < MAX_RUNS or (self.runs < MAX_FORMULA_RUNS and self.steps < MAX_CHEAP_STEPS):
            return True
        return self.steps < MAX_LONG_STEPS and self.recent < (MAX_RUNS if self.steps < MAX_REPEATED_STEPS else 1)

    def is_missing(self, earlier: list[CallSummary], moment: Moment) -> bool:
        """Whether it is a helper that ran in this execution of the outermost loop, but not in this iteration yet."""
        ran = {run.moment.iteration for run in earlier if run.moment.loop == moment.loop}
        return bool(ran) and moment.iteration not in ran and self.steps <= MAX_HELPER_STEPS * self.runs

    @property
    def is_settled(self) -> bool:
        """Whether it has run for long enough to predict its result."""
        return self.computes and self.steps >= MAX_COMPUTING_STEPS

    def alike(self, earlier: list[CallSummary]) -> CallSummary | None:
        """The run that represents another one: the last equivalent run. Failing that, the last run of a function that
        only computes, unless its result depended on conditions."""
        if earlier:
            return earlier[-1]
        return self.last if self.computes and self.last is not None and type(self.last.result) is not Union else None
