"""Everything that a run left behind, summed up."""

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
    Execution,
    Frame,
    Function,
    Happened,
    InnerDevice,
    Kept,
    Kernel,
    Loop,
    ModelCall,
    Node,
    Pace,
    Read,
    ReplicaRun,
    Sample,
    SourceText,
    Split,
    Stated,
    Steps,
    Strategy,
    Task,
    Variable,
    Wait,
    Where,
    Worker,
)

_TENSORFLOW = re.compile(r"[/\\]tensorflow[/\\]python[/\\]")


@dataclass(slots=True)
class Log:
    """What the placement log of one stream says in sum."""

    lines: int = 0
    placements: int = 0
    torn: int = 0
    placed: Counter[tuple[str, str]] = field(default_factory=Counter)
    ran: Counter[tuple[str, str]] = field(default_factory=Counter)
    messages: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Capture:
    """Everything that a run left behind, summed up."""

    start: dict[str, Any] = field(default_factory=dict)
    end: dict[str, Any] = field(default_factory=dict)
    process: dict[str, Any] = field(default_factory=dict)
    tensorflow: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    """What ended the program, "" where it came to its end."""
    error_at: Where | None = None
    """Where that was raised."""
    error_frames: tuple[tuple[Where, str], ...] = ()
    """The last frames of the program's that led there, with the names of their functions, the innermost last."""
    lost: list[tuple[str, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    simulated: int = 0
    """How many GPUs were simulated; names of GPUs stand for logical CPUs then."""
    simulated_memory: int | None = None
    """Bytes that each of them was said to have."""
    refused: str = ""
    """Why GPUs could not be simulated, "" where they could, or nobody asked for them."""
    limits: dict[str, int] = field(default_factory=dict)
    """Bytes that each simulated GPU may take, where it is known."""
    physical: tuple[str, ...] = ()
    visible: tuple[str, ...] = ()
    """Those of the physical devices that the program uses."""
    logical: tuple[str, ...] = ()
    growth: bool | None = None
    """Whether the runtime was told to take the memory of GPUs as it needs it, None where that is not known."""
    strategies: list[Strategy] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    executions: Counter[Execution] = field(default_factory=Counter)
    running: Counter[Execution] = field(default_factory=Counter)
    """Those that were run after the first training step had ended."""
    nodes: Counter[Node] = field(default_factory=Counter)
    copies: Counter[Copy] = field(default_factory=Counter)
    variables: list[Variable] = field(default_factory=list)
    functions: dict[tuple[str, Where | None], Function] = field(default_factory=dict)
    stated: dict[int, Stated] = field(default_factory=dict)
    """By id."""
    steps: dict[tuple[str, Where | None], Steps] = field(default_factory=dict)
    phase: str = ""
    """The last that the program was in."""
    phases: list[tuple[float, str]] = field(default_factory=list)
    """When each began."""
    timeline: list[Happened] = field(default_factory=list)
    """In the order of the records, which is nearly that of the times."""
    eager: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(phase, op) → how many eager operations ran."""
    taken: Counter[str] = field(default_factory=Counter)
    """How many training steps were taken in each phase."""
    kernels: dict[tuple[str, str], Kernel] = field(default_factory=dict)
    """(op, dtype) → what the registry of the TensorFlow that ran says, or simulated GPUs; empty where there are no GPU
    kernels."""
    compiled: dict[str, Where | None] = field(default_factory=dict)
    """Functions that XLA compiles, with the place that asked for it."""
    inner_devices: set[InnerDevice] = field(default_factory=set)
    runs: Counter[ReplicaRun] = field(default_factory=Counter)
    batches: list[Batch] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    splits: Counter[Split] = field(default_factory=Counter)
    waits: dict[Where | None, Wait] = field(default_factory=dict)
    reads: Counter[Read] = field(default_factory=Counter)
    model_calls: dict[ModelCall, tuple[int, float]] = field(default_factory=dict)
    """How often each was made, and the seconds of all together."""
    modules: tuple[str, ...] = ()
    """Files of the program's own modules that it imported."""
    environment: dict[str, dict[str, str]] = field(default_factory=dict)
    """Moment ("query", "runtime", "end") → variables that devices depend on."""
    keras: str = ""
    """Version of the Keras that the program imported, "" for none."""
    kept: list[Kept] = field(default_factory=list)
    """Tensors of steps that were looked at again later, those that were gone among them."""
    memory: list[Sample] = field(default_factory=list)
    resident: list[tuple[float, int]] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    sources: dict[str, SourceText] = field(default_factory=dict)
    logs: dict[str, Log] = field(default_factory=lambda: defaultdict(Log))
    torn: int = 0
    """Lines that could not be read."""
    worker: Worker | None = None
    """The task of a cluster that the program was, None where it was alone, or nobody said so."""
    paces: list[Pace] = field(default_factory=list)
    """Of the steps after the warm-up."""
    stack: tuple[Frame, ...] = ()
    """Where the main thread was when the program was stopped, the innermost function first."""
    members: tuple[Member, ...] = ()
    """The workers of which this is what all of them left behind together; none for one program."""

    @property
    def trainers(self) -> list[tuple[Task, Capture]]:
        """The workers that train and left something behind. Parameter servers and evaluators do not train; where there
        are parameter servers, nor do workers but the one that has the strategy: they run what it sends them."""
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
        """Whether it was inside of TensorFlow when it was stopped: in a step that waits for others, as a rule."""
        return bool(self.stack) and _TENSORFLOW.search(self.stack[0].path) is not None

    @property
    def last_line(self) -> str:
        """The last line that the program has printed."""
        return str(self.end.get("last") or "")

    @property
    def operations(self) -> Counter[str]:
        """How many operations ran, and nodes of graphs are, on each device."""
        seen = Counter[str]()
        for ran, count in self.executions.items():
            seen[ran.device] += count
        for node, count in self.nodes.items():
            seen[node.assigned] += count
        return seen

    @property
    def own_devices(self) -> tuple[str, ...]:
        """The devices of this process; in a cluster TensorFlow lists those of other workers, too."""
        return tuple(device for device in self.logical if not device.startswith("/job:"))

    @property
    def seconds(self) -> float:
        """How long the program ran, 0 where nobody saw its end."""
        return float(self.end.get("seconds", 0))


@dataclass(frozen=True, slots=True)
class Member:
    """A worker of a cluster, with what it left behind: None where there is nothing of it."""

    task: Task
    capture: Capture | None
