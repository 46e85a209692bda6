"""The run over time in Chrome's Trace Event Format (JSON), for Perfetto and chrome://tracing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gpulint._version import __version__
from gpulint.output.escapes import encodable, json_dumps
from gpulint.probe.capture.records import Call, Copy, Function, Happened, Steps, Strategy, Where
from gpulint.probe.measures.curves import Curve, beginning, curves, ending, phases
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_spent import StepTime
from gpulint.probe.report import RunReport, located
from gpulint.probe.report.header import SIMULATED, cards, verdict

PROGRAM = 1
"""Process number of the program; devices and cards have the following ones."""

_COPY = 1.0
"""Drawn duration of a copy in µs: an arrow needs slices to connect, and copies have no recorded duration."""

_CONFIGURATION, _TRACES, _PHASES, _COPIES = "configuration", "traces of functions", "phases", "copies"
_PARTS = "where the time of steps went"

_IN_STEP = ("python", "checkpoint", "input", "trace", "launch", "copy", "collective", "gpu", "other")
"""The order in which the parts of a step are drawn; the records have their sums."""


def render(report: RunReport, color: bool = False) -> str:
    """One object with an event per line. Times are µs since the start of the run. No lone surrogates, on which
    Perfetto's trace processor (v52) loops forever."""
    rows = ",\n".join(json_dumps(event) for event in _Drawing(report).events)
    about = json_dumps(_about(report))
    return encodable(f'{{"displayTimeUnit": "ms",\n"otherData": {about},\n"traceEvents": [\n{rows}\n]}}\n')


def _about(report: RunReport) -> dict[str, Any]:
    capture = report.capture
    return {
        "gpulint": __version__,
        "command": " ".join(capture.start.get("command") or ()),
        "tensorflow": capture.tensorflow.get("tensorflow"),
        "verdict": verdict(report),
        "simulated": SIMULATED if capture.simulated else None,
    }


class _Drawing:
    """The events of a run."""

    def __init__(self, report: RunReport) -> None:
        self.events: list[dict[str, Any]] = []
        self._capture = capture = report.capture
        self._zero = beginning(capture)
        self._processes: dict[str, int] = {}
        self._threads: dict[tuple[int, str], int] = {}
        self._ends: dict[int, float] = {}
        """Thread → end of its last slice: viewers drop slices of a thread that overlap."""
        self._program(report)
        for device in capture.logical:
            self._device(device)
        for card, devices in cards(capture):
            on = f": {', '.join(devices)}" if devices else ""
            self._process(f"card {card.bus}", f"{card.name}{on}")
        for curve in curves(capture):
            self._curve(curve)
        for span in phases(capture):
            self._slice(PROGRAM, _PHASES, span.phase, span.begin * 1e6, span.end * 1e6, {})
        for step in report.time.each if report.time is not None and not capture.simulated else ():
            self._parts(step)
        self._taken: Counter[tuple[str, Where | None]] = Counter()
        self._traced: Counter[tuple[str, Where | None]] = Counter()
        for one in sorted(capture.timeline, key=lambda one: one.t):
            self._happened(one)

    def _program(self, report: RunReport) -> None:
        simulated = " (simulated GPUs)" if self._capture.simulated else ""
        command = " ".join(self._capture.start.get("command") or ())
        self._processes["host"] = PROGRAM
        self._named("process_name", PROGRAM, 0, f"program{simulated}: {command}")
        self._named("process_labels", PROGRAM, 0, verdict(report), "labels")
        if self._capture.simulated:
            self._instant(_PHASES, SIMULATED, 0.0, {})
        if self._capture.error:
            self._instant(_PHASES, "the program ended", ending(self._capture) * 1e6, {"error": self._capture.error})

    # -------------------------------------------------------------------------- processes

    def _device(self, device: str) -> int:
        capture = self._capture
        if device in self._processes:
            return self._processes[device]
        operations = capture.operations[device]
        variables = [one.bytes for one in capture.variables if one.device == device]
        simulated = " (simulated)" if self._is_simulated(device) else ""
        labels = f"{operations:,} operations and nodes, {len(variables):,} variables of {in_words(sum(variables))}"
        return self._process(device, labels, simulated)

    def _is_simulated(self, device: str) -> bool:
        return bool(self._capture.simulated) and device.startswith("GPU")

    def _process(self, name: str, labels: str, after: str = "") -> int:
        number = self._processes[name] = PROGRAM + len(self._processes)
        self._named("process_name", number, 0, name + after)
        self._named("process_labels", number, 0, labels, "labels")
        self.events.append({"ph": "M", "name": "process_sort_index", "pid": number, "args": {"sort_index": number}})
        return number

    def _thread(self, process: int, name: str) -> int:
        """Thread ids are unique in the whole file and differ from process ids, as Perfetto requires."""
        if (process, name) not in self._threads:
            number = self._threads[process, name] = 1000 + len(self._threads)
            self._named("thread_name", process, number, name)
        return self._threads[process, name]

    def _named(self, kind: str, process: int, thread: int, name: str, field: str = "name") -> None:
        self.events.append({"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {field: name}})

    # ---------------------------------------------------------------------- what happened

    def _curve(self, curve: Curve) -> None:
        """Counters of the process of a device or card, or of the program."""
        subject, unit = curve.subject.removesuffix(" busy"), "memory"
        first, *others = subject.split(", ")
        process = self._processes[first] if first in self._processes else self._device(first)
        if curve.unit == "percent":
            unit = "utilisation %"
        elif others:
            unit = f"memory of {subject}, which share it"
        elif self._is_simulated(first):
            unit = "memory (estimate)"
        moments: dict[float, dict[str, float]] = {}
        for name, points in curve.lines:
            for t, value in points:
                moments.setdefault(t, {})[name] = value
        for t, values in sorted(moments.items()):
            self.events.append({"ph": "C", "name": unit, "pid": process, "ts": _rounded(t * 1e6), "args": values})

    def _happened(self, one: Happened) -> None:
        end = (one.t - self._zero) * 1e6
        begin = max(0.0, end - one.seconds * 1e6)
        if isinstance(one.what, Steps):
            self._steps(one, one.what, begin, end)
        elif isinstance(one.what, Call):
            self._slice(PROGRAM, _CONFIGURATION, one.what.name, begin, end, dict(_of_call(one.what)))
        elif isinstance(one.what, Strategy):
            made = {"devices": ", ".join(one.what.devices), "where": located(one.what.where)}
            self._instant(_CONFIGURATION, f"{one.what.cls} of {one.what.replicas}", end, made)
        elif isinstance(one.what, Function):
            self._trace(one.what, end)
        else:
            self._copy(one.what, one.number, end)

    def _steps(self, one: Happened, steps: Steps, begin: float, end: float) -> None:
        """A simulation has times of steps but no durations."""
        self._taken[steps.name, steps.where] += one.number
        thread = f"steps of {steps.name}" + (f" at {located(steps.where)}" if steps.where else "")
        name = steps.name if one.number == 1 else f"{one.number:,} × {steps.name}"
        about: dict[str, Any] = {"step": self._taken[steps.name, steps.where], "where": located(steps.where)}
        if self._capture.simulated:
            self._instant(thread, name, end, about)
            return
        if one.number > 1:
            about["mean ms"] = round(1000 * one.seconds / one.number, 3)
        self._slice(PROGRAM, thread, name, begin, end, about)

    def _parts(self, step: StepTime) -> None:
        begin = max(0.0, (step.ended - step.seconds - self._zero) * 1e6)
        for name in sorted(step.parts, key=_IN_STEP.index):
            end = begin + step.parts[name] * 1e6
            self._slice(PROGRAM, _PARTS, name, begin, end, {"step": step.number})
            begin = end

    def _trace(self, function: Function, t: float) -> None:
        """Several functions of one name each have a first trace."""
        self._traced[function.name, function.where] += 1
        number = self._traced[function.name, function.where]
        kind = "trace" if number <= max(function.made, 1) else "retrace"
        about = {"trace": number, "where": located(function.where), "device": function.device, "XLA": function.jit}
        self._instant(_TRACES, f"{kind} of {function.name}", t, about)

    def _copy(self, copy: Copy, count: int, t: float) -> None:
        """An arrow from device to device."""
        if not copy.source or not copy.target:
            return
        about = dict(_of_copy(copy, count))
        name = f"{count:,} × {copy.consumer or copy.op}"
        source, target = self._device(copy.source), self._device(copy.target)
        begin = self._slice(source, _COPIES, f"to {copy.target} for {name}", t, t, about, _COPY)
        end = self._slice(target, _COPIES, f"from {copy.source} for {name}", begin, begin, about, _COPY)
        arrow = {"name": "copy", "cat": "copy", "id": len(self.events)}
        self.events.append({"ph": "s", "pid": source, "tid": self._thread(source, _COPIES), "ts": begin, **arrow})
        self.events.append(
            {"ph": "f", "bp": "e", "pid": target, "tid": self._thread(target, _COPIES), "ts": end, **arrow}
        )

    # -------------------------------------------------------------------------- elements

    def _slice(
        self,
        process: int,
        thread: str,
        name: str,
        begin: float,
        end: float,
        about: Mapping[str, Any],
        least: float = 0.0,
    ) -> float:
        """A slice of at least `least` µs that starts no earlier than the end of its thread's last slice.

        Returns its start. Times are µs.
        """
        number = self._thread(process, thread)
        begin = _rounded(max(begin, self._ends.get(number, 0.0)))
        end = self._ends[number] = _rounded(max(end, begin + least))
        element = {"ph": "X", "name": name, "cat": thread.partition(" ")[0], "pid": process, "tid": number}
        self.events.append({**element, "ts": begin, "dur": _rounded(end - begin), "args": dict(about)})
        return begin

    def _instant(self, thread: str, name: str, t: float, about: Mapping[str, Any]) -> None:
        number = self._thread(PROGRAM, thread)
        element = {"ph": "i", "s": "t", "name": name, "cat": thread.partition(" ")[0], "pid": PROGRAM, "tid": number}
        self.events.append({**element, "ts": _rounded(t), "args": dict(about)})


def _of_call(call: Call) -> Iterator[tuple[str, str]]:
    yield (
        "arguments",
        ", ".join(value if name.isdecimal() else f"{name}={value}" for name, value in call.arguments.items()),
    )
    yield "where", located(call.where)
    if call.error:
        yield "error", call.error


def _of_copy(copy: Copy, count: int) -> Iterator[tuple[str, Any]]:
    yield "kind", copy.op
    yield "count", count
    if copy.bytes is not None:
        yield "bytes", copy.bytes
    yield "in each training step", copy.in_step
    yield "where", located(copy.where)


def _rounded(microseconds: float) -> float:
    return round(microseconds, 3)
