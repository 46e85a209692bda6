"""An estimate as a value: one step on each card, as reports show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from gpulint.estimate.answers import UNROLLED
from gpulint.estimate.cards import Card
from gpulint.estimate.graph import StepGraph
from gpulint.estimate.time.bounds import Bounds, Steps, bounds, steps_of
from gpulint.estimate.time.scaling import Scaling, exchange_of, free_batch, mixed_precision, scaling
from gpulint.estimate.time.statements import active, missing, more_gpus, unused
from gpulint.probe.capture.records import Where
from gpulint.probe.report import located

Fits = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Holder:
    """Bytes that a line holds at the peak. `group` is one of the probe's (`weights`, `slots`, `activations` …)."""

    filename: str
    row: int
    group: str
    bytes: int
    layer: str = ""
    cell: int | None = None


class Moment(NamedTuple):
    """Bytes in use while an operation of the step runs."""

    bytes: int
    operation: str
    filename: str
    row: int
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of one replica on one card, in bytes; None where a shape or a kernel is unknown."""

    limit: int
    steady_peak: int | None
    """The highest of the orders that the runtime may take."""
    least_peak: int | None
    """The lowest, if the allocator wastes nothing."""
    first_step_peak: int | None
    process: int | None
    fits: Fits
    largest_batch: int | None = None
    by_group: Mapping[str, int] = field(default_factory=dict)
    holders: Sequence[Holder] = ()
    curve: Sequence[Moment] = ()
    changes: Sequence[str] = ()
    """The first changes to make, each a sentence with the bytes that it saves."""


@dataclass(frozen=True, slots=True)
class OnCard:
    """The step on one card."""

    card: Card
    bounds: Bounds
    scaling: Sequence[Scaling]
    active: str
    """The active bound on the step, as a sentence."""
    remarks: Sequence[str]
    """Changes that would cost or gain nothing, and the gain of more GPUs, as sentences."""
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A training step on each of some cards."""

    step: StepGraph
    steps: Steps
    cards: Sequence[OnCard]
    is_eager: bool = False
    """Whether the program would run the step eagerly, slower than this."""
    launch: float = 0.0
    """Seconds for launching an operation that the bounds assume."""
    method: Sequence[str] = ()
    """How memory and time were computed, with their measured errors, as sentences."""
    others: Sequence[tuple[str, Where]] = ()
    """Functions that take gradients, too, and are not in the step: name and first line. Of `fit`, the lines of further
    calls."""
    loop: Where | None = None
    """A loop that may call `fit` of another model in each iteration."""
    tight: Sequence[str] = ()
    """Cards whose limit is so near the peak that the allocator and the error of the estimate decide whether it fits."""
    is_unrolled: bool = False
    """Whether Python loops over the examples of the batch."""
    is_iterated: bool = False
    """Whether a loop of the graph has an iteration for each example, or for each time step of data with time first."""
    unsized: Sequence[tuple[str, Where]] = ()
    """Operations whose output's size the graph does not tell, though it tells those of their inputs: type and line. The
    memory is unknown."""

    @property
    def unknown(self) -> Counter[str]:
        """Operations without a model, by type."""
        return self.steps.unknown

    @property
    def notes(self) -> list[str]:
        """Limitations of the estimate."""
        found = list(missing(self.steps))
        if self.is_eager:
            found.append("the program runs this step eagerly, which takes longer: Python launches each operation")
        if self.step.batch is None:
            found.append("the step takes no batch, but tensors that the program keeps: a largest batch does not exist")
        if self.others:
            named = ", ".join(f"{name} ({located(where)})" for name, where in self.others)
            found.append(
                f"this is one of several steps, and the only one estimated: {named} takes or applies gradients, "
                "too; to estimate another, let the program reach it first"
            )
        if self.loop is not None:
            found.append(
                f"only the first iteration of the loop at {located(self.loop)} is estimated: if a later one trains a "
                "larger model, start with that"
            )
        if self.tight:
            named = ", ".join(self.tight)
            found.append(f"the peak is too close to the limit of {named} for this estimate to decide")
        if self.is_unrolled:
            found.append("the step loops over its examples in Python: larger batches are unknown")
        if self.is_iterated:
            found.append(
                f"a loop runs once for each of the {self.step.batch:,} in the first dimension of the data: if that is "
                "time, the batch stated here is the length of a sequence"
            )
        if self.unsized:
            named = ", ".join(f"{kind} ({located(where)})" for kind, where in self.unsized)
            found.append(f"the memory is unknown: the graph does not tell the size of what these return: {named}")
        if self.step.unknown:
            found.append(f"unknown dimensions: {', '.join(self.step.unknown)} (state them with --shape)")
        return found


class Timing:
    """A step's work, computed once for all cards."""

    def __init__(self, step: StepGraph, doubled: StepGraph | None) -> None:
        """`doubled` is the step for another batch."""
        self.steps = steps_of(step)
        """The work of the step."""
        self._step, self._doubled = step, doubled
        self._larger = steps_of(doubled) if doubled is not None and self.steps.is_sized else None

    def on(self, card: Card, gpus: Sequence[int], launch: float, memory: Memory | None = None) -> OnCard:
        """The bounds of the step on a card, and on each number of such cards. `launch`: seconds for an operation on the
        host."""
        step, steps = self._step, self.steps
        found = replace(bounds(steps, card, launch), collective=exchange_of(steps, card, step.replicas))
        mixed = mixed_precision(steps, found, card, launch) if step.precision == "float32" else None
        scalings = [scaling(steps, found, card, number) for number in gpus]
        remarks = [*unused(steps, self._free_batch(card, launch), step.batch, mixed, found)]
        if scalings:
            remarks.append(more_gpus(scalings[-1], steps, card))
        return OnCard(card, found, scalings, active(steps, found, card), remarks, memory)

    @property
    def is_iterated(self) -> bool:
        """Whether a larger batch launches clearly more operations: a loop has an iteration for each example."""
        return self._larger is not None and self._larger.launches > UNROLLED * self.steps.launches

    def _free_batch(self, card: Card, launch: float) -> int | None:
        """The batch up to which more examples cost nothing, None if that is unknown."""
        if self._larger is None or self._doubled is None or self._step.batch is None or self._doubled.batch is None:
            return None
        return free_batch(self.steps, self._larger, (self._step.batch, self._doubled.batch), card, launch)
