"""The Capture: what a program did, as records in a file of JSON Lines.

Every line is one object with `kind` and `t` (seconds since the epoch). Two processes append to the file: the agent
inside the program, and the parent that started it. Each line is written at once and none is changed later, so what was
seen is there whatever ends the program. A place in the source (`where`) is `[path, row]` or null; rows start at 1;
sizes are bytes; devices are short names such as `GPU:0`.

| kind | by | fields |
|---|---|---|
| start | parent | version, gpulint, command, directory, python, platform |
| process | agent | pid, python, main |
| simulated | agent | gpus, memory: GPUs are simulated, with so many bytes each (null where nothing is said of it) |
| refused | agent | reason: why GPUs cannot be simulated; the program was not run |
| tensorflow | agent | tensorflow, keras (null where it is not loaded), cuda |
| lost | agent | evidence, reason: what this TensorFlow does not give |
| devices | agent | physical, logical: names, when the runtime has them; limits {device: bytes} of simulated GPUs |
| strategy | agent | id, class, devices, replicas, where |
| call | agent | name, arguments (short texts by name), outcome ("ok" or the error), where |
| file | agent | id, path: what the file numbers in rows stand for |
| ops | agent | rows of [file, row, op, requested, device, count]: eager operations since the last such record |
| nodes | agent | rows of [file, row, op, requested, assigned, layer, count]: nodes of graphs, when they are known |
| unsupported | agent | rows of [op, types]: what runs on the CPU of simulated GPUs for want of a kernel |
| copies | agent | rows of [op, from, to, count]: transfers between devices in graphs |
| variable | agent | name, shape, dtype, bytes, device, where |
| function | agent | name, where, traces, jit, device: the last record of a name and place counts |
| steps | agent | name, where, count, seconds, slowest: training steps since the last such record |
| memory | agent | phase, devices {device: [current, peak]} |
| phase | agent | name: "build", "warm-up" or "steps" begins |
| host | parent | resident: memory of the program and its children |
| cards | parent | rows of [PCI bus id, name, total, used, by the program, by others, utilisation in percent] |
| log | parent | stream, lines, placements, torn, placed and ran: rows of [op, device, count], messages |
| fault | agent, parent | where, error: something in gpulint went wrong |
| exit | agent | error: null, or what ended the program |
| end | parent | status (null where a signal did), signal, reason ("exit", "timeout", "hang" or "interrupt"), seconds |
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

VERSION = 1
"""Version of the form; grows when a field changes its meaning or goes."""


class CaptureError(Exception):
    """A file that is no capture, or one of a later gpulint. The message names the file."""


class Where(NamedTuple):
    """A row of a file, from 1."""

    path: str
    row: int


class Execution(NamedTuple):
    """An eager operation, by the place that ran it. `requested` is "" where nothing asked for a device."""

    where: Where | None
    op: str
    requested: str
    device: str


class Node(NamedTuple):
    """A node of a graph that was run, by the place that made it."""

    where: Where | None
    op: str
    requested: str
    assigned: str
    layer: str


class Copy(NamedTuple):
    """A transfer between devices inside a graph."""

    op: str
    source: str
    target: str


class Variable(NamedTuple):
    """A variable that was made, or one replica's copy of it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    device: str
    where: Where | None


class Strategy(NamedTuple):
    """A `tf.distribute.Strategy` that was made."""

    id: int
    cls: str
    devices: tuple[str, ...]
    replicas: int
    where: Where | None


class Call(NamedTuple):
    """A call of TensorFlow that configures something. `error` is "" where it went well."""

    name: str
    arguments: dict[str, str]
    error: str
    where: Where | None


class Function(NamedTuple):
    """A `tf.function` and how often it was traced."""

    name: str
    where: Where | None
    traces: int
    jit: bool
    device: str


class Steps(NamedTuple):
    """Training steps of one place. `seconds` are those of all of them together."""

    name: str
    where: Where | None
    taken: int
    seconds: float
    slowest: float


class Sample(NamedTuple):
    """Memory at one moment: (current, peak) by device, with the phase the program was in."""

    t: float
    phase: str
    devices: dict[str, tuple[int, int]]


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
    unsupported: set[tuple[str, str]] = field(default_factory=set)
    """Operations, with their types, that have no kernel for GPUs (simulated GPUs only)."""
    physical: tuple[str, ...] = ()
    logical: tuple[str, ...] = ()
    strategies: list[Strategy] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    executions: Counter[Execution] = field(default_factory=Counter)
    nodes: Counter[Node] = field(default_factory=Counter)
    copies: Counter[Copy] = field(default_factory=Counter)
    variables: list[Variable] = field(default_factory=list)
    functions: dict[tuple[str, Where | None], Function] = field(default_factory=dict)
    steps: dict[tuple[str, Where | None], Steps] = field(default_factory=dict)
    memory: list[Sample] = field(default_factory=list)
    resident: list[tuple[float, int]] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    logs: dict[str, Log] = field(default_factory=lambda: defaultdict(Log))
    torn: int = 0
    """Lines that could not be read."""

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
    def seconds(self) -> float:
        """How long the program ran, 0 where nobody saw its end."""
        return float(self.end.get("seconds", 0))


def read(path: str) -> Capture:
    """The capture in a file. Raises CaptureError for what is none, OSError."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        return _read(lines, path)


def _read(lines: Iterable[str], path: str) -> Capture:
    capture = Capture()
    files: dict[int, str] = {}
    for number, line in enumerate(lines):
        try:
            record = json.loads(line)
            kind = record["kind"]
        except (ValueError, KeyError, TypeError):
            if number == 0:
                raise CaptureError(f"{path}: not a capture of gpulint") from None
            capture.torn += 1
            continue
        if kind == "start" and record.get("version", 0) > VERSION:
            raise CaptureError(f"{path}: made by a later gpulint (version {record['version']})")
        if kind == "file":
            files[record["id"]] = record["path"]
            continue
        handle = _HANDLERS.get(kind)
        if handle is None:
            continue
        try:
            handle(capture, record, files)
        except (KeyError, IndexError, TypeError, ValueError):
            capture.torn += 1
    if not capture.start and not capture.process:
        raise CaptureError(f"{path}: not a capture of gpulint")
    return capture


def _where(value: Any) -> Where | None:
    return Where(str(value[0]), int(value[1])) if value else None


def _place(files: dict[int, str], file: int | None, row: int) -> Where | None:
    return Where(files[file], row) if file is not None else None


def _lost(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    capture.lost.append((record["evidence"], record["reason"]))


def _fault(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    capture.faults.append(f"{record['where']}: {record['error']}")


def _exit(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    capture.error = record["error"] or ""


def _devices(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    capture.physical, capture.logical = tuple(record["physical"]), tuple(record["logical"])
    capture.limits = {device: int(limit) for device, limit in record.get("limits", {}).items()}


def _simulated(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    capture.simulated, capture.simulated_memory = int(record["gpus"]), record["memory"]


def _refused(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    capture.refused = str(record["reason"])


def _unsupported(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    capture.unsupported |= {(op, types) for op, types in record["rows"]}


def _strategy(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    devices = tuple(record["devices"])
    capture.strategies.append(
        Strategy(record["id"], record["class"], devices, record["replicas"], _where(record["where"]))
    )


def _call(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    outcome = record["outcome"]
    error = "" if outcome == "ok" else outcome
    capture.calls.append(Call(record["name"], record["arguments"], error, _where(record["where"])))


def _ops(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    for file, row, op, requested, device, count in record["rows"]:
        capture.executions[Execution(_place(files, file, row), op, requested, device)] += count


def _nodes(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    for file, row, op, requested, assigned, layer, count in record["rows"]:
        capture.nodes[Node(_place(files, file, row), op, requested, assigned, layer)] += count


def _copies(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    for op, source, target, count in record["rows"]:
        capture.copies[Copy(op, source, target)] += count


def _variable(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    capture.variables.append(
        Variable(
            record["name"],
            tuple(record["shape"]),
            record["dtype"],
            record["bytes"],
            record["device"],
            _where(record["where"]),
        )
    )


def _function(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    where = _where(record["where"])
    made = Function(record["name"], where, record["traces"], bool(record["jit"]), record["device"])
    capture.functions[made.name, where] = made


def _steps(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    where = _where(record["where"])
    key = (record["name"], where)
    before = capture.steps.get(key, Steps(*key, 0, 0.0, 0.0))
    capture.steps[key] = before._replace(
        taken=before.taken + record["count"],
        seconds=before.seconds + record["seconds"],
        slowest=max(before.slowest, record["slowest"]),
    )


def _memory(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    devices = {device: (int(current), int(peak)) for device, (current, peak) in record["devices"].items()}
    capture.memory.append(Sample(record["t"], record["phase"], devices))


def _host(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    capture.resident.append((record["t"], record["resident"]))


def _cards(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    capture.cards += [Card(record["t"], *row) for row in record["rows"]]


def _log(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    log = capture.logs[record["stream"]]
    log.lines, log.placements, log.torn = record["lines"], record["placements"], record["torn"]
    log.placed = Counter({(op, device): count for op, device, count in record["placed"]})
    log.ran = Counter({(op, device): count for op, device, count in record["ran"]})
    log.messages = list(record["messages"])


def _kept(name: str) -> Any:
    def keep(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
        setattr(capture, name, record)

    return keep


_HANDLERS = {
    "start": _kept("start"),
    "end": _kept("end"),
    "process": _kept("process"),
    "tensorflow": _kept("tensorflow"),
    "lost": _lost,
    "fault": _fault,
    "exit": _exit,
    "devices": _devices,
    "simulated": _simulated,
    "refused": _refused,
    "unsupported": _unsupported,
    "strategy": _strategy,
    "call": _call,
    "ops": _ops,
    "nodes": _nodes,
    "copies": _copies,
    "variable": _variable,
    "function": _function,
    "steps": _steps,
    "memory": _memory,
    "host": _host,
    "cards": _cards,
    "log": _log,
}
