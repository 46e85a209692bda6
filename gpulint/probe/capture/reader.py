"""Reads a capture: a JSON Lines file of records, described in `docs/capture.md`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.device_names import localised
from gpulint.probe.capture.evidence import STATES, STEP_READS
from gpulint.probe.capture.records import (
    PUBLIC_NAMES,
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
    Lines,
    Loop,
    ModelCall,
    Node,
    OwnCost,
    Pace,
    PeakRow,
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
    Work,
    Worker,
)
from gpulint.probe.capture.windows import Window
from gpulint.sources.reading import lines_of

VERSION = 1
"""Version of the format; increases when a field is removed or changes its meaning."""

MAX_RECORD = 50_000_000
"""Maximum number of characters of a record; those of large runs have a few million."""

MAX_REPLICAS = 100_000
"""Maximum number of replicas of a strategy: reports list the share of each."""

MAX_LOST = 1_000
"""Maximum number of records of missing evidence that are kept: a run has a few."""

MEASURED = "steps"
"""The phase that checks look at: building a model and warming up may be slow and allocate memory."""

_TENSORFLOW = "/tensorflow/python/"
"""The folder of TensorFlow's own Python code."""


class CaptureError(Exception):
    """A file that is not a capture, or was written by a later gpulint. The message names the file."""


def read(path: str) -> Capture:
    """The capture in a file. Own devices of a cluster's worker get short names, others keep job and task. Raises
    CaptureError for other files, OSError."""
    return localised(_read(lines_of(path, MAX_RECORD), path))


def _read(lines: Iterable[str], path: str) -> Capture:
    capture = Capture()
    files: _Files = {}
    for number, line in enumerate(lines):
        try:
            record = json.loads(line)
            kind = record["kind"]
        except (ValueError, KeyError, TypeError, RecursionError):
            if number == 0:
                raise CaptureError(f"{path}: not a gpulint capture") from None
            capture.torn += 1
            continue
        try:
            if kind == "start" and record.get("version", 0) > VERSION:
                raise CaptureError(f"{path}: written by a newer gpulint (capture version {record['version']})")
            if kind == "file":
                files[record["id"]] = (record["path"], record.get("cell"))
            elif (handle := _HANDLERS.get(kind)) is not None:
                handle(capture, record, files)
        except (AttributeError, KeyError, IndexError, OverflowError, TypeError, ValueError):
            capture.torn += 1
    if not capture.start and not capture.process:
        raise CaptureError(f"{path}: not a gpulint capture")
    if sum(one.taken for one in capture.steps.values()) > 1 and not capture.segments:
        # A capture without states is from a release that did not count the reads of a step either.
        capture.lost += [(what, "the capture has no record of it") for what in (STATES, STEP_READS)]
    return capture


_Files: TypeAlias = "dict[int, tuple[str, int | None]]"


def _where(value: Any) -> Where | None:
    return _of_program(str(value[0]), int(value[1]), *value[2:3]) if value else None


def _of_program(path: str, row: int, cell: int | None = None) -> Where | None:
    """A place in the program. Early captures also name files of TensorFlow where it was outside `site-packages`."""
    return None if _TENSORFLOW in path else Where(path, row, cell)


def _at(record: dict[str, Any]) -> float:
    return float(record.get("t", 0.0))


def _place(files: _Files, file: int | None, row: int) -> Where | None:
    if file is None:
        return None
    path, cell = files[file]
    return _of_program(path, row, cell)


def _lost(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    lost = record["evidence"], record["reason"]
    if len(capture.lost) < MAX_LOST and lost not in capture.lost:
        capture.lost.append(lost)


def _fault(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.faults.append(f"{record['where']}: {record['error']}")


def _exit(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.error, capture.error_at = record["error"] or "", _where(record.get("where"))
    capture.error_frames = _frames(record)


def _position(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.position = _frames(record)


def _frames(record: dict[str, Any]) -> tuple[tuple[Where, str], ...]:
    frames = ((_where(place), str(function)) for place, function in record.get("frames", ()))
    return tuple((where, function) for where, function in frames if where is not None)


def _devices(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.physical, capture.logical = tuple(record["physical"]), tuple(record["logical"])
    capture.visible, capture.growth = tuple(record.get("visible", record["physical"])), record.get("growth")
    capture.limits = {device: int(limit) for device, limit in record.get("limits", {}).items()}


def _simulated(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    capture.simulated, capture.simulated_memory = int(record["gpus"]), record["memory"]


def _refused(capture: Capture, record: dict[str, Any], files: dict[int, str]) -> None:
    capture.refused = str(record["reason"])


def _strategy(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    devices = tuple(record["devices"])
    if record["replicas"] > MAX_REPLICAS:
        raise ValueError(record["replicas"])
    name = PUBLIC_NAMES.get(record["class"], record["class"])
    made = Strategy(record["id"], name, devices, record["replicas"], _where(record["where"]))
    capture.strategies.append(made)
    capture.timeline.append(Happened(_at(record), made))


def _call(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    outcome = record["outcome"]
    error = "" if outcome == "ok" else outcome
    made = Call(record["name"], record["arguments"], error, _where(record["where"]))
    capture.calls.append(made)
    capture.timeline.append(Happened(_at(record), made, seconds=record.get("seconds", 0.0)))


def _ops(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    beside = (_column(record, name, "") for name in ("dtypes", "parts"))
    for (file, row, op, requested, device, count), *more in zip(record["rows"], *beside, strict=True):
        ran = Execution(_place(files, file, row), op, requested, device, *more)
        capture.executions[ran] += count
        if not ran.part:
            capture.eager[capture.phase, op] += count
        if capture.taken:
            capture.running[ran] += count


def _nodes(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    beside = (_column(record, name, otherwise) for name, otherwise in (("dtypes", ""), ("parts", ""), ("replicas", 0)))
    for (file, row, op, requested, assigned, layer, count), *more in zip(record["rows"], *beside, strict=True):
        capture.nodes[Node(_place(files, file, row), op, requested, assigned, layer, *more)] += count


def _copies(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    at = _column(record, "at", [None, 0, "", "", None, False, False])
    for (op, source, target, count), (file, row, *needed) in zip(record["rows"], at, strict=True):
        made = Copy(op, source, target, _place(files, file, row), *needed)
        capture.copies[made] += count
        capture.timeline.append(Happened(_at(record), made, count))


def _column(record: dict[str, Any], name: str, otherwise: Any) -> list[Any]:
    """A list with one element per row of a record; early captures lack it."""
    found: list[Any] = record.get(name) or [otherwise] * len(record["rows"])
    return found


def _kernels(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.kernels |= {(op, dtype): Kernel(gpu, host) for op, dtype, gpu, host in record["rows"]}


def _compiled(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.compiled.setdefault(record["name"], _where(record["where"]))


def _inner(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.inner_devices |= {
        InnerDevice(_place(files, file, row), name, device) for file, row, name, device in record["rows"]
    }


def _runs(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, *given, count in record["rows"]:
        capture.runs[ReplicaRun(_place(files, file, row), *given)] += count


def _batch(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.batches.append(Batch(_where(record["where"]), record["size"]))


def _loop(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.loops.append(Loop(_where(record["where"]), str(record["function"])))


def _splits(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, sizes, count in record["rows"]:
        capture.splits[Split(_place(files, file, row), tuple(map(int, sizes)))] += count


def _input(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, elements, waited, seconds, steps in record["rows"]:
        where = _place(files, file, row)
        before = capture.waits.get(where, Wait(0, 0.0, 0.0, 0))
        capture.waits[where] = Wait(
            before.elements + elements, before.waited + waited, before.seconds + seconds, before.steps + steps
        )


def _local_input(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, elements, seconds in record["rows"]:
        where = _place(files, file, row)
        before = capture.local_input.get(where, (0, 0.0))
        capture.local_input[where] = before[0] + elements, before[1] + seconds


def _reads(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, device, count in record["rows"]:
        capture.reads[Read(_place(files, file, row), device)] += count


def _step_reads(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, device, count, steps in record["rows"]:
        read = Read(_place(files, file, row), device)
        before = capture.step_reads.get(read, (0, 0))
        capture.step_reads[read] = before[0] + count, before[1] + steps


def _retraces(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, function, own, cause, argument, example, count in record["rows"]:
        one = Retrace(_place(files, file, row), function, bool(own), cause, argument, example)
        capture.retraces[one] += count


def _forks(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, count in record["rows"]:
        capture.forks[_place(files, file, row)] += count


def _models(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, method, count, seconds in record["rows"]:
        call = ModelCall(_place(files, file, row), method)
        made, spent = capture.model_calls.get(call, (0, 0.0))
        capture.model_calls[call] = made + count, spent + seconds


def _data(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, kind, workers, batch, count in record["rows"]:
        capture.data[Data(_place(files, file, row), kind, workers, batch)] += count


def _pipeline(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    stages = tuple(Transformation(str(name), _where(place)) for name, place in record["stages"])
    capture.pipelines[_where(record["where"])].append(stages)


def _environment(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.environment[record["moment"]] = dict(record["values"])


def _modules(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.modules = tuple(record["paths"])


def _keras(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.keras = record["version"]


def _variable(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.variables.append(
        Variable(
            record["name"],
            tuple(record["shape"]),
            record["dtype"],
            record["bytes"],
            record["device"],
            _where(record["where"]),
            tuple(place for one in record.get("callers", ()) if (place := _place(files, *one)) is not None),
            record.get("round", 0),
            record.get("older", 0),
        )
    )


def _function(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    where = _where(record["where"])
    one = Function(
        record["name"],
        where,
        record["traces"],
        bool(record["jit"]),
        record["device"],
        made=record.get("made", 0),
        graph=bool(record.get("graph", True)),
        runs=record.get("runs", 0),
    )
    capture.functions[one.name, where] = one
    capture.timeline += [Happened(moment, one) for moment in record.get("at", ())]


def _steps(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    where = _where(record["where"])
    key = (record["name"], where)
    busy, operations = record.get("busy", (0, 0))
    none = Steps(*key, 0, 0.0, 0.0)
    before = capture.steps.get(key, none)
    capture.steps[key] = before._replace(
        taken=before.taken + record["count"],
        seconds=before.seconds + record.get("seconds", 0.0),
        slowest=max(before.slowest, record.get("slowest", 0.0)),
        busy=before.busy + busy,
        operations=before.operations + operations,
        merged=before.merged + record.get("merged", 0),
    )
    capture.taken[capture.phase] += record["count"]
    each = record.get("each", [])
    capture.timeline += [Happened(t, none, seconds=seconds) for t, seconds in each]
    if more := record["count"] - len(each):
        rest = max(0.0, record.get("seconds", 0.0) - sum(seconds for _, seconds in each))
        capture.timeline.append(Happened(record.get("ended", _at(record)), none, more, rest))


def _phase(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.phase = record["name"]
    capture.phases.append((_at(record), capture.phase))


def _expectation(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    lines = record["lines"]
    capture.stated[record["id"]] = Stated(
        record["form"],
        record["expected"],
        record["subject"],
        _where(record["where"]),
        Counter({(name, device): count for name, device, count in record["objects"]}),
        Counter({(op, device): count for op, device, count in record["ops"]}),
        Counter({Copy(op, source, target): count for op, source, target, count in record["copies"]}),
        Lines(*lines[:5]) if lines is not None else None,
        record["traces"],
        record["missing"],
    )


def _kept_tensors(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.kept = [Kept(_place(files, file, row), *counted) for file, row, *counted in record["rows"]]


def _holders(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.holdings = [Holding(_place(files, file, row), *held) for file, row, *held in record["rows"]]


def _peaks(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.window_peaks = [
        WindowPeak(device, in_use, before, tuple(PeakRow(_place(files, file, row), *held) for file, row, *held in rows))
        for device, in_use, before, rows in record["rows"]
    ]


def _memory(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    devices = {device: (int(current), int(peak)) for device, (current, peak) in record["devices"].items()}
    capture.memory.append(Sample(record["t"], record["phase"], devices))


def _host(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.resident.append((record["t"], record["resident"]))


def _cards(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.cards += [Card(record["t"], *row) for row in record["rows"]]


def _source(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.sources[record["path"]] = SourceText(record["modified"], record["digest"], record["text"])


def _log(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    log = capture.logs[record["stream"]]
    log.lines, log.placements, log.torn = record["lines"], record["placements"], record["torn"]
    log.placed = Counter({(op, device): count for op, device, count in record["placed"]})
    log.ran = Counter({(op, device): count for op, device, count in record["ran"]})
    log.messages = list(record["messages"])


def _worker(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    tasks = tuple(Task(str(job), int(index)) for job, index in record["tasks"])
    capture.worker = Worker(record["job"], int(record["index"]), record["launcher"], tasks)


def _cost(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.own_cost = OwnCost(record["hooks"], record["counting"], record["writing"])


def _pace(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    if capture.phase == MEASURED:
        capture.paces += [Pace(*row) for row in record["rows"]]


def _stage(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.stages[record["id"]] = Stage(str(record["name"]), _where(record["where"]))


def _time(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    states = record["states"]
    slow = {ended: tuple(_work(files, row) for row in rows) for ended, rows in record["slow"]}
    for ended, *seconds, eager in record["each"]:
        of_state = {name: spent for name, spent in zip(states, seconds, strict=True) if spent}
        capture.steps_taken.append(TakenStep(ended, of_state, eager, slow.get(ended, ())))
    began, ended, work = float(record["began"]), float(record["ended"]), [_work(files, row) for row in record["work"]]
    seconds = {str(name): float(spent) for name, spent in record["seconds"].items()}
    one = Segment(record["stage"], began, ended, record["steps"], seconds, record["eager"], (*work,))
    if record["kind"] == "time":
        capture.segments.append(one)
    else:
        capture.first_step = one


def _work(files: _Files, row: list[Any]) -> Work:
    file, number, state, detail, seconds, times = row
    return Work(_place(files, file, number), state, detail, seconds, times)


def _inside(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, state, detail, began, ended, seconds, times in record["rows"]:
        work = Work(_place(files, file, row), state, detail, seconds, times)
        capture.inside.append(Inside(work, began, ended))


def _traced(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, name, kind, times, seconds, causes, *more in record["rows"]:
        again, again_seconds = more or (times - 1, seconds * (times - 1) / max(times, 1))  # early captures lack them
        traced = Traced(times, seconds, tuple(causes), again, again_seconds)
        capture.traced[name, _place(files, file, row), kind] = traced


def _eager(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.eager_cost = EagerCost(record["operations"], record["mean"], record["median"], record.get("computing"))


def _generators(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, elements, seconds in record["rows"]:
        where = _place(files, file, row)
        before = capture.generators.get(where, (0, 0.0))
        capture.generators[where] = before[0] + elements, before[1] + seconds


def _stage_times(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, name, *numbers in record["rows"]:
        key = _place(files, file, row), name
        before = capture.stage_times.get(key, StageTime(0, 0.0, 0.0))
        capture.stage_times[key] = StageTime(*(one + more for one, more in zip(before, numbers, strict=True)))


def _samples(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    for file, row, state, detail, thread, count, *steps in record["rows"]:  # early captures do not tell the steps
        sampled = Sampled(_place(files, file, row), state, detail, thread)
        capture.samples[sampled] += count
        capture.sampled_steps[sampled] += sum(steps)


def _window(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.window = Window.of(record, lambda file, row: _place(files, file, row))


def _stack(capture: Capture, record: dict[str, Any], files: _Files) -> None:
    capture.stack = tuple(Frame(*row) for row in record["frames"])


def _kept(name: str) -> Any:
    def keep(capture: Capture, record: dict[str, Any], files: _Files) -> None:
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
    "position": _position,
    "devices": _devices,
    "simulated": _simulated,
    "refused": _refused,
    "strategy": _strategy,
    "call": _call,
    "ops": _ops,
    "nodes": _nodes,
    "copies": _copies,
    "kernels": _kernels,
    "compiled": _compiled,
    "inner": _inner,
    "runs": _runs,
    "batch": _batch,
    "loop": _loop,
    "splits": _splits,
    "input": _input,
    "local input": _local_input,
    "reads": _reads,
    "step reads": _step_reads,
    "retraces": _retraces,
    "forks": _forks,
    "models": _models,
    "data": _data,
    "pipeline": _pipeline,
    "environment": _environment,
    "keras": _keras,
    "modules": _modules,
    "variable": _variable,
    "function": _function,
    "expectation": _expectation,
    "phase": _phase,
    "steps": _steps,
    "kept": _kept_tensors,
    "memory": _memory,
    "holders": _holders,
    "peaks": _peaks,
    "host": _host,
    "cards": _cards,
    "source": _source,
    "log": _log,
    "worker": _worker,
    "pace": _pace,
    "stage": _stage,
    "time": _time,
    "first step": _time,
    "inside": _inside,
    "traced": _traced,
    "eager": _eager,
    "cost": _cost,
    "generators": _generators,
    "stages": _stage_times,
    "samples": _samples,
    "window": _window,
    "stack": _stack,
}
