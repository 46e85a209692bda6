"""What a Capture is made of. Devices are short names such as `GPU:0`; sizes are bytes, times seconds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple


class Where(NamedTuple):
    """A row of a file, from 1; in a notebook a row of the cell with this index, from 0."""

    path: str
    row: int
    cell: int | None = None


class Execution(NamedTuple):
    """An eager operation, by the place that ran it. `requested` is "" where nothing asked for a device, `dtype` that of
    the first input, "" where there is none or nobody noted it. `part` is "tf.data" where a strategy divides its input,
    "reduction" where it keeps what it mirrors the same, or ""."""

    where: Where | None
    op: str
    requested: str
    device: str
    dtype: str = ""
    part: str = ""


class Node(NamedTuple):
    """A node of a graph that was run, by the place that made it. `part` is "step" in a function that takes gradients,
    "tf.data" in one that a pipeline calls, "initialisation" in one that initialises variables, or ""; `replica` is the
    one of a strategy that runs it, from 0."""

    where: Where | None
    op: str
    requested: str
    assigned: str
    layer: str
    dtype: str = ""
    part: str = ""
    replica: int = 0


class Copy(NamedTuple):
    """A transfer between devices: `op` is the kind of node, "EagerCopy" outside graphs.

    `consumer` is the operation that needed what was copied, at `where`, with the device asked for there. `bytes` is
    None where the shape is not known. `in_step`: in the graph of a training step, made once in each. `mixed`: the
    consumer also reads what was computed on another device than the source. `reduces`: a strategy keeps there what it
    mirrors the same; None where nobody noted it.
    """

    op: str
    source: str
    target: str
    where: Where | None = None
    consumer: str = ""
    requested: str = ""
    bytes: int | None = None
    in_step: bool = False
    mixed: bool = False
    reduces: bool | None = None


class Kernel(NamedTuple):
    """What TensorFlow's registry says of an operation on a dtype: whether it has a GPU kernel, and whether that takes
    its first input from host memory."""

    gpu: bool
    host: bool


class Variable(NamedTuple):
    """A variable that was made, or one replica's copy of it. `callers` are the calls that led to `where`, from the
    innermost outwards, as far as they are known. `round`: the training steps and calls of models before it; `older`: of
    how many earlier rounds variables were still there that were made in the same place."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    device: str
    where: Where | None
    callers: tuple[Where, ...] = ()
    round: int = 0
    older: int = 0


class Strategy(NamedTuple):
    """A `tf.distribute.Strategy` that was made."""

    id: int
    cls: str
    devices: tuple[str, ...]
    """Those of this process."""
    replicas: int
    """Those of all processes."""
    where: Where | None

    @property
    def own_replicas(self) -> int:
        """The replicas of this process: one on each of its devices where the strategy spans several workers, and all
        of them otherwise."""
        return len(self.devices) if self.cls in SEVERAL_WORKERS and self.devices else self.replicas


SEVERAL_WORKERS = frozenset({"MultiWorkerMirroredStrategy", "CollectiveAllReduceStrategy"})
"""Strategies whose replicas are on several workers; the second is the name of the first one's class."""


class Call(NamedTuple):
    """A call of TensorFlow that configures something. `error` is "" where it went well."""

    name: str
    arguments: dict[str, str]
    error: str
    where: Where | None


class Function(NamedTuple):
    """The `tf.function`s of a name: how often they were traced, and how many there are (0: not known)."""

    name: str
    where: Where | None
    traces: int
    jit: bool
    device: str
    made: int = 0
    graph: bool = True
    """Whether its nodes were seen: those of a function that XLA compiles, or that was traced before, were not."""

    @property
    def traces_of_each(self) -> float:
        """Traces of one of them, in the mean: each fold of a validation has functions of its own."""
        return self.traces / max(self.made, 1)


class Lines(NamedTuple):
    """Rows `first` to `last` of a file, or of a notebook's cell, and the op that is meant there, "" for all."""

    path: str
    first: int
    last: int
    op: str
    cell: int | None = None

    def has(self, where: Where | None, op: str) -> bool:
        """Whether an op at a place is meant."""
        if where is None or (where.path, where.cell) != (self.path, self.cell) or self.op not in ("", op):
            return False
        return self.first <= where.row <= self.last


class Stated(NamedTuple):
    """Something that the program itself expects, with what was seen of it (`gpulint.expect`)."""

    form: str
    """"on" a device, "copies" between devices, "traces" of a function, or "that": an expression."""
    expected: str
    subject: str
    where: Where | None
    objects: Counter[tuple[str, str]]
    """(name, device) of tensors and variables."""
    ops: Counter[tuple[str, str]]
    """(op, device) of what ran."""
    copies: Counter[Copy]
    lines: Lines | None
    """What is meant, where `ops` does not say it."""
    traces: int | None
    missing: str
    """Why nothing, or not everything, was seen."""


@dataclass(frozen=True, order=True, slots=True)
class Task:
    """One of the tasks of a cluster: the job that it belongs to, such as `worker` or `chief`, and its index there."""

    job: str
    index: int

    @property
    def name(self) -> str:
        """`worker 1`."""
        return f"{self.job} {self.index}"

    @property
    def prefix(self) -> str:
        """What TensorFlow puts before the names of its devices in a cluster: `/job:worker/task:1/`."""
        return f"/job:{self.job}/task:{self.index}/"

    @property
    def trains(self) -> bool:
        """Whether it takes training steps: parameter servers and evaluators do not."""
        return self.job not in ("ps", "evaluator")


@dataclass(frozen=True, slots=True)
class Worker:
    """The task that a process is, by which launcher, and all tasks that this names, none where it does not say."""

    job: str
    index: int
    launcher: str = ""
    tasks: tuple[Task, ...] = ()

    @property
    def task(self) -> Task:
        return Task(self.job, self.index)


class Frame(NamedTuple):
    """A function that was running, at a row of its file; `own`: of the program, in no installed package."""

    path: str
    row: int
    function: str
    own: bool


class Pace(NamedTuple):
    """How a process spends the time of so many training steps: median seconds in the function of the step, and of
    Python's own between two of them, in which it waits for no input."""

    steps: int
    inside: float
    between: float


class Steps(NamedTuple):
    """Training steps of one place. `seconds` are those of all of them together. `busy`: how many came after more than a
    few eager operations since the one before, `operations`: how many these were."""

    name: str
    where: Where | None
    taken: int
    seconds: float
    slowest: float
    busy: int = 0
    operations: int = 0


class Happened(NamedTuple):
    """What was seen at a time: the end of a call, of a training step or of `number` in a row, a strategy that was
    made, the first run of one more trace of a function, or `number` copies that were counted until then."""

    t: float
    what: Call | Copy | Function | Steps | Strategy
    number: int = 1
    seconds: float = 0.0
    """How long it took until then, 0 where that is not known."""


class Sample(NamedTuple):
    """Memory at one moment: (current, peak) by device, with the phase the program was in."""

    t: float
    phase: str
    devices: dict[str, tuple[int, int]]


class SourceText(NamedTuple):
    """A file of the program as it was when the run first came to it. `text` is None where it was not kept."""

    modified: float
    digest: str
    text: str | None


class Card(NamedTuple):
    """A card as NVML sees it, at one moment."""

    t: float
    bus: str
    name: str
    total: int
    used: int
    by_program: int
    by_others: int
    utilisation: int


class InnerDevice(NamedTuple):
    """A device that is asked for inside a function which XLA compiles."""

    where: Where | None
    function: str
    device: str


class ReplicaRun(NamedTuple):
    """Calls of `strategy.run` that were given the same: `divided`, values of which each replica has its own part;
    `whole`, tensors that every replica gets; `batch`, the first dimension of what one replica got, None where it is
    not known. `eager`: outside traced functions; `traced`: what is run is a `tf.function`."""

    where: Where | None
    function: str
    replicas: int
    eager: bool
    traced: bool
    divided: bool
    whole: bool
    batch: int | None


class Kept(NamedTuple):
    """Tensors of one origin in the steps that were looked at: in how many they were `made`, in how many of these some
    were `left` when at least as many steps had followed, and the bytes of those in all."""

    where: Where | None
    op: str
    device: str
    made: int
    left: int
    bytes: int


class Batch(NamedTuple):
    """A dataset that was divided among replicas, and the size of its batches."""

    where: Where | None
    size: int


class Loop(NamedTuple):
    """A loop over a dataset inside a `tf.function`: nobody sees what it runs, nor how often."""

    where: Where | None
    function: str

    @property
    def text(self) -> str:
        at = f" on line {self.where.row}" if self.where is not None else ""
        return f"what the loop over a dataset in `{self.function}`{at} runs is not seen"


class Split(NamedTuple):
    """A batch of a distributed dataset, at the loop that reads it: the elements of each replica of this process."""

    where: Where | None
    sizes: tuple[int, ...]


class Wait(NamedTuple):
    """What a loop over a dataset spent waiting for `elements`, of so many seconds, and the training steps meanwhile."""

    elements: int
    waited: float
    seconds: float
    steps: int


class Read(NamedTuple):
    """A place where Python reads tensors of a device."""

    where: Where | None
    device: str


class ModelCall(NamedTuple):
    """A place where a method of a Keras model is called."""

    where: Where | None
    method: str
