"""Lower bounds on the time of a step on a card, from its operations.

Assumptions, which reports repeat:

* launch: a call of a traced function takes at least CALL seconds, TensorFlow's executor at least LAUNCH for each
  operation with a kernel on the GPU, and cuDNN KERNEL for each further one of a recurrent layer. Operations that XLA
  compiles are launched together and count nothing.
* compute: a matrix product or convolution cannot be faster than the card's peak for its dtype.
* memory: a kernel reads its inputs and writes its outputs once; one whose tensors fit into the cache may
  find them there. Of operations that XLA compiles, which it may fuse with others, only matrix products count.
* The kernels of a device run one after another; copies of the input and the launches overlap with them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from gpulint.estimate.cards import Card
from gpulint.estimate.graph import StepGraph
from gpulint.estimate.time.exchange import gradient_bytes
from gpulint.estimate.time.executed import executed
from gpulint.estimate.time.kinds import KINDS
from gpulint.estimate.time.work import Work, work_of

Bound = Literal["launch", "compute", "memory", "copy", "collective"]

LAUNCH = 7e-6
"""Seconds for an operation with a kernel. On the host of an H200 (16 cores) a transformer's step took 8.6 µs for each,
those of two convolutional networks 11.2 and 13.0: the bound is below the fastest."""

KERNEL = 2e-6
"""Seconds from one kernel to the next of the same library: a launch costs the host about that on any GPU."""

CALL = 50e-6
"""Seconds for calling a traced function from Python: one of a single small operation took 160 µs and more."""

MOST_UNSIZED = 0.01
"""Share of operations of unknown shape from which what the kernels need is known in part only."""

SLOWER = 0.75
"""Share of launching from which the kernels are what bounds the step: in measured steps that they bound they took 2.5
times their bound and more, launching at most 1.9 times."""

CACHE_SPEED = 8
"""No card's cache is more than this many times as fast as its memory."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the program that operations come from; "" and 0 if it is unknown."""

    filename: str
    row: int
    cell: int | None = None
    """Index of the cell of a notebook."""


@dataclass(frozen=True, slots=True)
class Job:
    """Operations of one line that do the same work, as the busiest device runs them in one step."""

    line: Line
    work: Work
    times: float
    is_compiled: bool

    @property
    def may_be_fused(self) -> bool:
        """Whether XLA may fuse it with others, so that its tensors need not go through memory."""
        return self.is_compiled and not self.work.is_matrix


@dataclass(frozen=True, slots=True)
class Steps:
    """The work of one training step on its busiest device, whatever the card."""

    jobs: tuple[Job, ...]
    input_bytes: float
    """Bytes of the batch that are copied to the device."""
    gradient_bytes: float
    """Bytes of the gradients that replicas exchange."""
    unknown: Counter[str]
    """Operations without a cost model, by type."""
    unsized: Counter[str]
    """Operations whose shapes are unknown, by type."""
    uncounted_loops: int
    """Loops whose number of iterations is unknown: they count as one."""
    is_compiled: bool
    is_called: bool = True
    """Whether each step is a call of a traced function, and not one iteration of a loop in it."""

    @property
    def operations(self) -> int:
        """Operations with a kernel on the GPU."""
        return round(sum(job.times for job in self.jobs))

    @property
    def is_sized(self) -> bool:
        """Whether the work of nearly all kernels is known, and how often they run."""
        return not self.uncounted_loops and sum(self.unsized.values()) <= MOST_UNSIZED * self.operations

    @property
    def launches(self) -> int:
        """Operations that the executor launches one by one."""
        return round(sum(job.times for job in self.jobs if not job.is_compiled))

    @property
    def kernels(self) -> int:
        """Kernels that libraries launch within these operations, besides the first of each."""
        return round(sum(job.work.kernels * job.times for job in self.jobs if not job.is_compiled))

    @property
    def flops(self) -> float:
        """FLOP by the usual counting."""
        return sum(job.work.flops * job.times for job in self.jobs)

    @property
    def bytes(self) -> float:
        """Bytes that kernels read and write, those of operations that may be fused left out."""
        return sum(job.work.bytes * job.times for job in self.jobs if not job.may_be_fused)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower bounds on the seconds of a step."""

    launch: float
    compute: float
    """Share of `device` by kernels that the peak rate limits."""
    memory: float
    """Share of `device` by kernels that the memory's bandwidth limits."""
    copy: float
    collective: float = 0.0
    """Seconds for the exchange of gradients between the replicas of the program."""
    by_line: dict[Line, tuple[float, float, float]] = field(default_factory=dict)
    """Seconds of launch, compute and memory by line."""

    @property
    def device(self) -> float:
        """Seconds for which kernels run on the card."""
        return self.compute + self.memory

    @property
    def alone(self) -> float:
        """The greatest lower bound of a step that exchanges no gradients."""
        return max(self.launch, self.copy, self.device)

    @property
    def active(self) -> Bound:
        """The name of the greatest lower bound; of the kernels', if that of launching is not much greater."""
        of_kernels: Bound = "compute" if self.compute > self.memory else "memory"
        ordered: tuple[tuple[float, Bound], ...] = (
            (self.launch, "launch"),
            (self.copy, "copy"),
            (self.collective, "collective"),
            (self.device, of_kernels),
        )
        found = max(ordered, key=lambda one: one[0])[1]
        is_near = self.device >= SLOWER * self.launch > SLOWER * CALL
        return of_kernels if found == "launch" and is_near else found

    @property
    def seconds(self) -> float:
        """The greatest lower bound. Replicas exchange gradients after the last kernel of the backward pass."""
        return self.alone + self.collective


def steps_of(graph: StepGraph) -> Steps:
    """The work of a training step on the device that has most of it."""
    found: defaultdict[str, Counter[tuple[Line, Work, bool]]] = defaultdict(Counter)
    unknown: Counter[str] = Counter()
    unsized: Counter[str] = Counter()
    loops = 0
    is_compiled = False
    for one in executed(graph):
        operation = one.operation
        loops += not one.is_counted
        if one.is_view:
            continue
        work = work_of(operation, one.inputs)
        if work is None:
            if KINDS.get(operation.type) != "call" and operation.is_on_gpu:
                unknown[operation.type] += one.times
            continue
        if not work.has_kernel:
            continue
        if not work.is_sized:
            unsized[operation.type] += one.times
        is_compiled = is_compiled or one.is_compiled
        device = operation.device or "GPU:0"
        found[device][Line(operation.filename, operation.row, operation.cell), work, one.is_compiled] += one.times
    busiest = max(found.values(), key=_weight, default=Counter())
    jobs = [Job(line, work, times, compiled) for (line, work, compiled), times in busiest.items()]
    return Steps(
        jobs=tuple(jobs),
        input_bytes=sum(one.tensor.bytes or 0 for one in graph.arguments) / graph.replicas,
        gradient_bytes=gradient_bytes(graph),
        unknown=unknown,
        unsized=unsized,
        uncounted_loops=loops,
        is_compiled=is_compiled,
        is_called=not graph.is_in_loop,
    )


def _weight(jobs: Counter[tuple[Line, Work, bool]]) -> float:
    return sum(work.bytes * times for (_, work, _), times in jobs.items())


def bounds(steps: Steps, card: Card, launch: float = LAUNCH) -> Bounds:
    """The bounds on a card. `launch`: seconds for an operation on the host."""
    lines: defaultdict[Line, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for job in steps.jobs:
        if not job.is_compiled:
            lines[job.line][0] += (launch + KERNEL * job.work.kernels) * job.times
        if job.may_be_fused:
            continue
        computing, moving = _computing(job.work, card), _moving(job.work, card)
        lines[job.line][1 if computing > moving else 2] += max(computing, moving) * job.times
    sums = [sum(parts[number] for parts in lines.values()) for number in range(3)]
    return Bounds(
        launch=sums[0] + CALL * steps.is_called,
        compute=sums[1],
        memory=sums[2],
        copy=steps.input_bytes / card.host if card.host else 0.0,
        by_line={line: (one, two, three) for line, (one, two, three) in lines.items()},
    )


def _computing(work: Work, card: Card) -> float:
    """Seconds at the card's peak."""
    if not work.is_matrix:
        return work.flops / card.float32 if card.float32 else 0.0
    rate = card.matrix_rate(work.dtype)
    has_tensor_cores = work.dtype not in ("float32", "float64") or (work.dtype == "float32" and card.tf32)
    share = 1.0 if has_tensor_cores else work.multiplications
    return work.flops * share / rate if rate else 0.0


def _moving(work: Work, card: Card) -> float:
    """Seconds at the bandwidth of the memory, or of the cache where it may hold all that the kernel touches. Kernels go
    through their tensors from the start to the end: of more than fits, the cache has lost the start before the next
    kernel comes to it."""
    if not card.bandwidth:
        return 0.0
    size = work.bytes
    return (size if size > card.cache else size / CACHE_SPEED) / card.bandwidth


def lines_of(found: Bounds) -> Iterable[tuple[Line, Bound, float]]:
    """Lines with their active bound and its seconds, the longest first."""
    listed: list[tuple[Line, Bound, float]] = []
    for line, (launch, compute, memory) in found.by_line.items():
        device: tuple[float, Bound] = (compute + memory, "compute" if compute > memory else "memory")
        seconds, bound = max((launch, "launch"), device)
        listed.append((line, bound, seconds))
    return sorted(listed, key=lambda one: -one[2])
