"""The contents of a capture, aggregated."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from gpulint.probe.capture.records import (
    Batch,
    Call,
    Card,
    Copy,
    Data,
    EagerCost,
    Execution,
    Frame,
    Function,
    Happened,
    Holding,
    InnerDevice,
    Inside,
    Kept,
    Kernel,
    Loop,
    ModelCall,
    Node,
    OwnCost,
    Pace,
    Read,
    ReplicaRun,
    Retrace,
    Sample,
    Sampled,
    Segment,
    SourceText,
    Split,
    Stage,
    StageTime,
    Stated,
    Steps,
    Strategy,
    TakenStep,
    Task,
    Traced,
    Transformation,
    Variable,
    Wait,
    Where,
    WindowPeak,
    Worker,
)
from gpulint.probe.capture.windows import Window

_TENSORFLOW = re.compile(r"[/\\]tensorflow[/\\]python[/\\]")


@dataclass(slots=True)
class Log:
    """Totals of one stream's placement log."""

    lines: int = 0
    placements: int = 0
    torn: int = 0
    placed: Counter[tuple[str, str]] = field(default_factory=Counter)
    ran: Counter[tuple[str, str]] = field(default_factory=Counter)
    messages: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Capture:
    """Everything that a run recorded, aggregated."""

    start: dict[str, Any] = field(default_factory=dict)
    end: dict[str, Any] = field(default_factory=dict)
    process: dict[str, Any] = field(default_factory=dict)
    tensorflow: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    """The error that ended the program, "" if none."""
    error_at: Where | None = None
    """Where it was raised."""
    error_frames: tuple[tuple[Where, str], ...] = ()
    """The last frames of the program that led there, with function names, innermost last."""
    position: tuple[tuple[Where, str], ...] = ()
    """The frames of the program that its main thread was last seen in, with function names, innermost last."""
    lost: list[tuple[str, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    simulated: int = 0
    """Number of simulated GPUs. If not 0, `GPU:n` names a logical CPU."""
    simulated_memory: int | None = None
    """Bytes of each, as requested."""
    refused: str = ""
    """Why GPUs could not be simulated, "" if they could or were not requested."""
    limits: dict[str, int] = field(default_factory=dict)
    """Memory limit in bytes of each simulated GPU, where known."""
    physical: tuple[str, ...] = ()
    visible: tuple[str, ...] = ()
    """The physical devices that the program uses."""
    logical: tuple[str, ...] = ()
    growth: bool | None = None
    """Whether memory growth was enabled for GPUs; None if unknown."""
    strategies: list[Strategy] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    executions: Counter[Execution] = field(default_factory=Counter)
    running: Counter[Execution] = field(default_factory=Counter)
    """Executions after the end of the first training step."""
    nodes: Counter[Node] = field(default_factory=Counter)
    copies: Counter[Copy] = field(default_factory=Counter)
    variables: list[Variable] = field(default_factory=list)
    functions: dict[tuple[str, Where | None], Function] = field(default_factory=dict)
    stated: dict[int, Stated] = field(default_factory=dict)
    """Expectations stated in the program, keyed by id."""
    steps: dict[tuple[str, Where | None], Steps] = field(default_factory=dict)
    phase: str = ""
    """The current phase."""
    phases: list[tuple[float, str]] = field(default_factory=list)
    """Start time and name of each."""
    timeline: list[Happened] = field(default_factory=list)
    """Events in the order of the records, roughly by time."""
    eager: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(phase, op) → number of eager operations."""
    taken: Counter[str] = field(default_factory=Counter)
    """Training steps in each phase."""
    kernels: dict[tuple[str, str], Kernel] = field(default_factory=dict)
    """(op, dtype) → entry of the kernel registry of the TensorFlow that ran, or of the simulated GPUs; empty without
    GPU kernels."""
    compiled: dict[str, Where | None] = field(default_factory=dict)
    """Functions compiled by XLA, with the line that requested it."""
    inner_devices: set[InnerDevice] = field(default_factory=set)
    runs: Counter[ReplicaRun] = field(default_factory=Counter)
    batches: list[Batch] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    splits: Counter[Split] = field(default_factory=Counter)
    waits: dict[Where | None, Wait] = field(default_factory=dict)
    local_input: dict[Where | None, tuple[int, float]] = field(default_factory=dict)
    """Loop over a distributed dataset → elements of which this process got its part, and the seconds for that."""
    reads: Counter[Read] = field(default_factory=Counter)
    holdings: list[Holding] = field(default_factory=list)
    """Memory that Python held on each device, at the peak."""
    window_peaks: list[WindowPeak] = field(default_factory=list)
    step_reads: dict[Read, tuple[int, int]] = field(default_factory=dict)
    """Training steps after which the program itself reads there, of the steps from the first to the last of them."""
    retraces: Counter[Retrace] = field(default_factory=Counter)
    forks: Counter[Where | None] = field(default_factory=Counter)
    """Lines that forked the process with TensorFlow's runtime up."""
    model_calls: dict[ModelCall, tuple[int, float]] = field(default_factory=dict)
    """Number of calls, and seconds of all together."""
    data: Counter[Data] = field(default_factory=Counter)
    """Data that Keras models were fitted to → number of calls."""
    pipelines: dict[Where | None, list[tuple[Transformation, ...]]] = field(default_factory=lambda: defaultdict(list))
    """Line → the stages of each pipeline that it reads, last to first."""
    modules: tuple[str, ...] = ()
    """The program's own modules that were imported, as files."""
    environment: dict[str, dict[str, str]] = field(default_factory=dict)
    """Moment ("query", "runtime", "end") → environment variables that affect devices."""
    keras: str = ""
    """Version of the imported Keras, "" for none."""
    kept: list[Kept] = field(default_factory=list)
    """Tensors of sampled steps, including those freed by the time they were checked."""
    memory: list[Sample] = field(default_factory=list)
    resident: list[tuple[float, int]] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    sources: dict[str, SourceText] = field(default_factory=dict)
    logs: dict[str, Log] = field(default_factory=lambda: defaultdict(Log))
    torn: int = 0
    """Unreadable lines."""
    worker: Worker | None = None
    """The program's cluster task, None outside a cluster or if unknown."""
    paces: list[Pace] = field(default_factory=list)
    """Steps after the warm-up."""
    stages: dict[int, Stage] = field(default_factory=dict)
    """Pipeline stages, keyed by id."""
    segments: list[Segment] = field(default_factory=list)
    """The time of the training thread from its first step on, without gaps."""
    first_step: Segment | None = None
    """The time of the training thread until its first step ended."""
    steps_taken: list[TakenStep] = field(default_factory=list)
    """The first steps after that one."""
    inside: list[Inside] = field(default_factory=list)
    traced: dict[tuple[str, Where | None, str], Traced] = field(default_factory=dict)
    """Traces, keyed by function, line and kind."""
    own_cost: OwnCost | None = None
    """Cost of gpulint itself."""
    eager_cost: EagerCost | None = None
    generators: dict[Where | None, tuple[int, float]] = field(default_factory=dict)
    """Generators that feed datasets: elements and seconds."""
    stage_times: dict[tuple[Where | None, str], StageTime] = field(default_factory=dict)
    """(line that reads, name of the stage) → the stage, as tf.data measured it."""
    samples: Counter[Sampled] = field(default_factory=Counter)
    sampled_steps: Counter[Sampled] = field(default_factory=Counter)
    window: Window | None = None
    """The part of the run that TensorFlow's profiler traced."""
    stack: tuple[Frame, ...] = ()
    """The main thread's stack when the program was stopped, innermost frame first."""
    members: tuple[Member, ...] = ()
    """The workers that were joined into this capture; empty for a single program."""

    @property
    def trainers(self) -> list[tuple[Task, Capture]]:
        """The workers that train and have a capture. Parameter servers and evaluators do not train. With parameter
        servers only the worker that created the strategy does: the others run what it sends."""
        known = [(one.task, one.capture) for one in self.members if one.capture is not None and one.task.trains]
        made = [strategy.cls for _, capture in known for strategy in capture.strategies]
        is_coordinated = any(cls.startswith("ParameterServer") for cls in made)
        return [(task, capture) for task, capture in known if capture.strategies or not is_coordinated]

    @property
    def stopped_at(self) -> Where | None:
        """The line of the program at which it was stopped."""
        return next((Where(one.path, one.row) for one in self.stack if one.own), None)

    @property
    def waits_in_tensorflow(self) -> bool:
        """Whether it was stopped inside TensorFlow: usually a step that waits for other workers."""
        return bool(self.stack) and _TENSORFLOW.search(self.stack[0].path) is not None

    @property
    def last_line(self) -> str:
        """The last line that the program printed."""
        return str(self.end.get("last") or "")

    @property
    def operations(self) -> Counter[str]:
        """Operations run, plus graph nodes, by device."""
        seen = Counter[str]()
        for ran, count in self.executions.items():
            seen[ran.device] += count
        for node, count in self.nodes.items():
            seen[node.assigned] += count
        return seen

    @property
    def on_gpu(self) -> bool:
        """Whether TensorFlow had a real GPU."""
        return not self.simulated and any("GPU:" in device for device in self.logical)

    @property
    def own_devices(self) -> tuple[str, ...]:
        """The devices of this process; in a cluster TensorFlow also lists those of other workers."""
        return tuple(device for device in self.logical if not device.startswith("/job:"))

    @property
    def seconds(self) -> float:
        """Duration of the run, 0 if its end is missing."""
        return float(self.end.get("seconds", 0))


@dataclass(frozen=True, slots=True)
class Member:
    """A worker of a cluster and its capture, None if it left none."""

    task: Task
    capture: Capture | None
