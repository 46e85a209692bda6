"""The types that a capture consists of. Devices are short names such as `GPU:0`; sizes are bytes, times seconds."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple


class Where(NamedTuple):
    """A row of a file, from 1; in a notebook, a row of the cell with this index, from 0."""

    path: str
    row: int
    cell: int | None = None

    @property
    def in_short(self) -> str:
        """`train.py:41` or `train.ipynb:cell 3:7`, without the folder."""
        cell = f":cell {self.cell + 1}" if self.cell is not None else ""
        return f"{os.path.basename(self.path)}{cell}:{self.row}"


class Execution(NamedTuple):
    """An eager operation and the line that ran it. `requested` is "" without an explicit device; `dtype` is that of the
    first input, "" if there is none or it was not recorded. `part` is "tf.data" where a strategy divides its input,
    "reduction" where it keeps mirrored values equal, or ""."""

    where: Where | None
    op: str
    requested: str
    device: str
    dtype: str = ""
    part: str = ""


class Node(NamedTuple):
    """A node of an executed graph and the line that created it. `part` is "step" in a function that takes gradients,
    "tf.data" in one that a pipeline calls, "initialisation" in one that initialises variables, or ""; `replica` is the
    strategy's replica that runs it, from 0."""

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

    `consumer` is the operation at `where` that needed the tensor, and `requested` its explicit device. `bytes` is None
    if the shape is unknown. `in_step`: in the graph of a training step, once per step. `mixed`: the consumer also reads
    tensors computed on a device other than the source. `reduces`: part of a strategy's reduction, which keeps mirrored
    values equal; None if not recorded.
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
    """The registry's entry for an operation on a dtype: whether it has a GPU kernel, and whether that kernel reads
    its first input from host memory."""

    gpu: bool
    host: bool


class Variable(NamedTuple):
    """A variable that was created, or one replica's copy of it. `callers` are the calls that led to `where`,
    innermost first, as far as known. `round`: training steps and model calls before it; `older`: number of earlier
    rounds whose variables from the same line still existed."""

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
    """A `tf.distribute.Strategy` that was created."""

    id: int
    cls: str
    """Name of its class in `tf.distribute`, or of the program's own."""
    devices: tuple[str, ...]
    """Devices of this process."""
    replicas: int
    """Number of replicas in all processes."""
    where: Where | None

    @property
    def own_replicas(self) -> int:
        """The replicas of this process: one per device if the strategy spans several workers, otherwise all of them."""
        return len(self.devices) if self.cls in SEVERAL_WORKERS and self.devices else self.replicas


SEVERAL_WORKERS = frozenset({"MultiWorkerMirroredStrategy"})
"""Strategies whose replicas are on several workers."""

PUBLIC_NAMES = {
    "CollectiveAllReduceStrategy": "MultiWorkerMirroredStrategy",
    "ParameterServerStrategyV2": "ParameterServerStrategy",
    "TPUStrategyV2": "TPUStrategy",
    "CentralStorageStrategyV1": "CentralStorageStrategy",
    "CollectiveAllReduceStrategyV1": "MultiWorkerMirroredStrategy",
    "MirroredStrategyV1": "MirroredStrategy",
    "OneDeviceStrategyV1": "OneDeviceStrategy",
    "ParameterServerStrategyV1": "ParameterServerStrategy",
    "TPUStrategyV1": "TPUStrategy",
}
"""Classes of TensorFlow → the names in `tf.distribute` that programs write (2.16 and 2.21)."""


class Call(NamedTuple):
    """A call that configures TensorFlow. `error` is "" if it succeeded."""

    name: str
    arguments: dict[str, str]
    error: str
    where: Where | None


class Function(NamedTuple):
    """All `tf.function`s of one name: number of traces, and number of functions (0: unknown)."""

    name: str
    where: Where | None
    traces: int
    jit: bool
    device: str
    made: int = 0
    graph: bool = True
    """Whether its nodes were recorded: not for functions that XLA compiles or that were traced before."""
    runs: int = 0
    """Runs from Python that are no training steps; the real number may be up to twice as large."""

    @property
    def traces_of_each(self) -> float:
        """Mean traces per function: each fold of a validation has functions of its own."""
        return self.traces / max(self.made, 1)


class Lines(NamedTuple):
    """Rows `first` to `last` of a file, or of a notebook's cell, restricted to one op unless it is ""."""

    path: str
    first: int
    last: int
    op: str
    cell: int | None = None

    def has(self, where: Where | None, op: str) -> bool:
        """Whether an op at a line is included."""
        if where is None or (where.path, where.cell) != (self.path, self.cell) or self.op not in ("", op):
            return False
        return self.first <= where.row <= self.last


class Stated(NamedTuple):
    """An expectation stated in the program (`gpulint.expect`), with what was observed."""

    form: str
    """"on" a device, "copies" between devices, "traces" of a function, or "that": an expression."""
    expected: str
    subject: str
    where: Where | None
    objects: Counter[tuple[str, str]]
    """(name, device) of tensors and variables."""
    ops: Counter[tuple[str, str]]
    """(op, device) of operations that ran."""
    copies: Counter[Copy]
    lines: Lines | None
    """The lines it refers to, if `ops` does not say."""
    traces: int | None
    missing: str
    """Why nothing, or not everything, was observed."""


@dataclass(frozen=True, order=True, slots=True)
class Task:
    """A task of a cluster: its job, such as `worker` or `chief`, and its index."""

    job: str
    index: int

    @property
    def name(self) -> str:
        """`worker 1`."""
        return f"{self.job} {self.index}"

    @property
    def prefix(self) -> str:
        """The prefix of its device names in a cluster: `/job:worker/task:1/`."""
        return f"/job:{self.job}/task:{self.index}/"

    @property
    def trains(self) -> bool:
        """Whether it takes training steps: parameter servers and evaluators do not."""
        return self.job not in ("ps", "evaluator")


@dataclass(frozen=True, slots=True)
class Worker:
    """The task that a process is, its launcher, and all tasks that the launcher names, if any."""

    job: str
    index: int
    launcher: str = ""
    tasks: tuple[Task, ...] = ()

    @property
    def task(self) -> Task:
        return Task(self.job, self.index)


class Frame(NamedTuple):
    """A stack frame: a function at a row of its file; `own`: part of the program, not of an installed package."""

    path: str
    row: int
    function: str
    own: bool


class Pace(NamedTuple):
    """Where a process spends the time of a number of training steps: median seconds in the step function, and in
    Python between two steps, input waits excluded."""

    steps: int
    inside: float
    between: float


class Steps(NamedTuple):
    """Training steps of one line. `seconds` is their total. `busy`: steps preceded by more than a few eager
    operations since the previous one; `operations`: the number of these; `merged`: calls that were part of a step that
    had already begun."""

    name: str
    where: Where | None
    taken: int
    seconds: float
    slowest: float
    busy: int = 0
    operations: int = 0
    merged: int = 0


class Happened(NamedTuple):
    """An event with its time: the end of a call, of a training step or of `number` in a row, the creation of a
    strategy, the first run of a new trace, or `number` copies counted so far."""

    t: float
    what: Call | Copy | Function | Steps | Strategy
    number: int = 1
    seconds: float = 0.0
    """Its duration, 0 if unknown."""


class Sample(NamedTuple):
    """Memory at one moment: (current, peak) by device, with the phase of the program."""

    t: float
    phase: str
    devices: dict[str, tuple[int, int]]


class SourceText(NamedTuple):
    """A file of the program as it was when the run first reached it. `text` is None if it was not kept."""

    modified: float
    digest: str
    text: str | None


class Card(NamedTuple):
    """A GPU as reported by NVML, at one moment."""

    t: float
    bus: str
    name: str
    total: int
    used: int
    by_program: int
    by_others: int
    utilisation: int


class InnerDevice(NamedTuple):
    """A device requested inside a function that XLA compiles."""

    where: Where | None
    function: str
    device: str


class ReplicaRun(NamedTuple):
    """Calls of `strategy.run` with the same kinds of arguments: `divided`, values sharded across replicas; `whole`,
    tensors that every replica gets in full; `batch`, first dimension of one replica's part, None if unknown.
    `eager`: outside traced functions; `traced`: the function run is a `tf.function`."""

    where: Where | None
    function: str
    replicas: int
    eager: bool
    traced: bool
    divided: bool
    whole: bool
    batch: int | None


class Kept(NamedTuple):
    """Tensors of one origin in the sampled steps: the number of steps that `made` some, the number of these with
    some `left` after at least as many further steps, and the bytes left in total."""

    where: Where | None
    op: str
    device: str
    made: int
    left: int
    bytes: int


class Batch(NamedTuple):
    """A dataset distributed across replicas, and its batch size."""

    where: Where | None
    size: int


class Loop(NamedTuple):
    """A loop over a dataset inside a `tf.function`: nobody sees what it runs, nor how often."""

    where: Where | None
    function: str

    @property
    def text(self) -> str:
        at = f" on line {self.where.row}" if self.where is not None else ""
        return f"the operations of the loop over a dataset in `{self.function}`{at} are not observed"


class Split(NamedTuple):
    """A batch of a distributed dataset, at the loop that reads it: the elements of each replica of this process."""

    where: Where | None
    sizes: tuple[int, ...]


class Wait(NamedTuple):
    """Time that a loop over a dataset waited for `elements`, of so many seconds, and the training steps meanwhile."""

    elements: int
    waited: float
    seconds: float
    steps: int


class Stage(NamedTuple):
    """A stretch of the program: "epoch 2", "evaluation", "prediction", or "loop", one pass over a dataset."""

    name: str
    where: Where | None


class Work(NamedTuple):
    """Seconds that the training thread spent in a state, on one kind of work of a line: `detail` names the operation,
    function or callback."""

    where: Where | None
    state: str
    detail: str
    seconds: float
    times: int


class TakenStep(NamedTuple):
    """One step: when it ended, seconds by state since the one before, and the eager operations meanwhile. `work` is
    what took longest, of the slowest steps only."""

    ended: float
    seconds: dict[str, float]
    eager: int
    work: tuple[Work, ...] = ()


class Segment(NamedTuple):
    """Consecutive steps of a stage (by its id), or the rest of it after them: seconds by state of the training thread
    and `own`, the agent's."""

    stage: int
    began: float
    ended: float
    steps: int
    seconds: dict[str, float]
    eager: int
    work: tuple[Work, ...]


class StageTime(NamedTuple):
    """A stage of the pipelines that a line reads: elements, seconds of its own work, and elements times parallelism."""

    elements: int
    seconds: float
    parallel: float


class Inside(NamedTuple):
    """Seconds inside a function, between two moments, that belong to another state than "launch"."""

    work: Work
    began: float
    ended: float


class Traced(NamedTuple):
    """Traces (`kind` "trace") or compilations by XLA ("xla") of a function, in the whole run. `causes`: what changed
    since the one before; `again`: how many of them a change of the arguments or another function object made
    necessary, and `again_seconds` their time."""

    times: int
    seconds: float
    causes: tuple[str, ...]
    again: int
    again_seconds: float


class OwnCost(NamedTuple):
    """Seconds that gpulint took in the program's process: in its hooks, for counting eager operations, and for writing
    the capture."""

    hooks: float
    counting: float
    writing: float

    @property
    def total(self) -> float:
        return self.hooks + self.counting + self.writing


class EagerCost(NamedTuple):
    """Eager operations that were timed: their number, mean and median seconds, and the mean seconds that they compute
    at least, None in early captures."""

    operations: int
    mean: float
    median: float
    computing: float | None = None


class Sampled(NamedTuple):
    """A line that Python ran while the training thread did some work: in that thread ("training"), or another one of
    the program ("outside"); of "looked" samples, how often other threads were looked at."""

    where: Where | None
    state: str
    detail: str
    thread: str


class Read(NamedTuple):
    """A line where Python reads tensors of a device."""

    where: Where | None
    device: str


class Retrace(NamedTuple):
    """A retrace of a `tf.function`, at the line that called it. `own`: it is the program's, not a library's.
    `cause`: its `argument` differs in "shape", "dtype", "value" (of a Python number or string), "object" (another one),
    "model" (another one, with variables) or "structure"; "function": another function object of the same code;
    "context": the same arguments under another device, strategy or outer function. `example` is the first difference
    of the kind."""

    where: Where | None
    function: str
    own: bool
    cause: str
    argument: str
    example: str


class Data(NamedTuple):
    """Data that the calls of `fit` on a line are given: "arrays", "dataset", "generator", "PyDataset", "PyDataset of a
    library", "Sequence" (Keras 2) or "other"; `workers` of a PyDataset; `batch`, the requested batch size, 0 if the
    data is in batches."""

    where: Where | None
    kind: str
    workers: int
    batch: int


class Transformation(NamedTuple):
    """A dataset of a pipeline by its class, such as `ParallelMapDataset`, and the line that added it."""

    name: str
    where: Where | None


class ModelCall(NamedTuple):
    """A line that calls a method of a Keras model."""

    where: Where | None
    method: str


class Holding(NamedTuple):
    """Bytes at the peak of what Python holds on a device ("" for arrays, which are on the host until TensorFlow copies
    them): `group` is "weights", "slots", "input" or "python", `what` the operation or method they come from."""

    where: Where | None
    device: str
    group: str
    what: str
    bytes: int


class PeakRow(NamedTuple):
    """Bytes that were allocated within the traced window and in use at its peak, by line and group."""

    where: Where | None
    group: str
    op: str
    bytes: int


class WindowPeak(NamedTuple):
    """The peak of a device's allocator in the traced window: bytes in use, of these allocated before the window, and
    what the others were for. The device is a physical one."""

    device: str
    in_use: int
    before: int
    rows: tuple[PeakRow, ...]
