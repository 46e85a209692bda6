"""The probe's report for a terminal."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from io import StringIO

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gpulint.output.view import printable
from gpulint.probe.capture import Capture, Where
from gpulint.probe.checks.placement import is_bookkeeping
from gpulint.probe.expectation import Expectation, Status
from gpulint.probe.fallbacks import fallbacks
from gpulint.probe.report import Report

SIMULATED = "SIMULATED GPUs: logical CPUs stand for them; speed, NCCL, kernels and real memory are not known"
WIDTH = 120
MAX_ROWS = 12
"""Rows of a matrix: the operations that ran most."""
MAX_EVIDENCE = 10
MAX_HELD = 6
"""Expectations that hold, of which so many are listed and the others counted."""

_STYLES = {
    Status.FAIL: "bold red",
    Status.WARN: "yellow",
    Status.INCONCLUSIVE: "magenta",
    Status.SKIP: "dim",
    Status.PASS: "green",
}


def render(report: Report, color: bool) -> str:
    """Header, expectations, devices, evidence, and one line that says how it went."""
    written = StringIO()
    console = Console(
        file=written, width=WIDTH, force_terminal=color, no_color=not color, highlight=False, legacy_windows=False
    )
    _header(console, report.capture)
    _expectations(console, report)
    _operations(console, report.capture)
    _log(console, report.capture)
    _variables(console, report.capture)
    _fallbacks(console, report.capture)
    _evidence(console, report)
    console.print(f"[bold]{_safe(verdict(report))}[/bold]")
    return written.getvalue()


def verdict(report: Report) -> str:
    """One line: how many expectations were broken, and how the program ended."""
    counts = Counter(one.status for one in report.expectations)
    said = ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status]) or "nothing to check"
    end = report.capture.end
    reason = end.get("reason")
    if reason in ("timeout", "hang"):
        return f"{said}; the program was stopped ({reason})"
    if end.get("signal"):
        return f"{said}; the program was ended by signal {end['signal']}"
    if end.get("status"):
        return f"{said}; the program ended with status {end['status']}"
    return said


def _header(console: Console, capture: Capture) -> None:
    version = capture.tensorflow.get("tensorflow")
    if not capture.process:
        return
    if capture.simulated:
        console.print(f"[bold magenta]{SIMULATED}[/]")
    if not version:
        console.print("The program did not import TensorFlow.")
        return
    strategies = ", ".join(f"{one.cls} of {one.replicas}" for one in capture.strategies) or "no strategy"
    devices = ", ".join(capture.logical) or "not initialised"
    console.print(_safe(f"TensorFlow {version} on {devices}; {strategies}; {capture.seconds:.1f} s"))
    steps = sum(one.taken for one in capture.steps.values())
    if steps and capture.simulated:
        console.print(f"{steps} training steps")
    elif steps:
        seconds = sum(one.seconds for one in capture.steps.values())
        console.print(_safe(f"{steps} training steps, {1000 * seconds / steps:.1f} ms each"))
    for evidence, reason in capture.lost:
        console.print(_safe(f"not seen: {evidence} ({reason})"))
    for fault in capture.faults:
        console.print(_safe(f"fault of the probe: {fault}"))


def _expectations(console: Console, report: Report) -> None:
    if not report.expectations:
        return
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for name in ("", "expectation", "expected", "observed", "where"):
        table.add_column(name, overflow="fold")
    held = [one for one in report.expectations if one.status is Status.PASS]
    for one in [*(one for one in report.expectations if one.status is not Status.PASS), *held[:MAX_HELD]]:
        code = f"{one.code} " if one.code else ""
        table.add_row(
            f"[{_STYLES[one.status]}]{one.status.value}[/]",
            _safe(f"{code}{one.subject}"),
            _safe(one.expected),
            _safe(one.observed),
            _safe(shown(one.where)),
        )
    console.print(table)
    if len(held) > MAX_HELD:
        console.print(f"… and {len(held) - MAX_HELD} more that hold")


def _operations(console: Console, capture: Capture) -> None:
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for ran, count in capture.executions.items():
        if ran.device and not is_bookkeeping(ran.op):
            seen[ran.op][ran.device] += count
    for node, count in capture.nodes.items():
        if not is_bookkeeping(node.op):
            seen[node.op][node.assigned] += count
    _matrix(console, "operations and graph nodes", seen, capture.logical)


def _log(console: Console, capture: Capture) -> None:
    """The placement log, where there is nothing better."""
    if capture.executions or capture.nodes or (capture.process and not capture.tensorflow):
        return
    for name, log in capture.logs.items():
        seen: dict[str, Counter[str]] = defaultdict(Counter)
        for (op, device), count in (*log.placed.items(), *log.ran.items()):
            if not is_bookkeeping(op):
                seen[op][device] += count
        if log.lines:
            torn = f", {log.torn} torn" if log.torn else ""
            console.print(_safe(f"{name}: {log.lines} lines, {log.placements} of them placements{torn}"))
        _matrix(console, "operations in the placement log", seen, capture.logical)
        for message in log.messages:
            console.print(_safe(message))


def _variables(console: Console, capture: Capture) -> None:
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for one in capture.variables:
        seen[one.name.partition("/replica_")[0]][one.device] += one.bytes
    _matrix(console, "bytes of variables", seen, capture.logical)


def _fallbacks(console: Console, capture: Capture) -> None:
    """What real GPUs would leave to the CPU, as far as a simulation has seen it."""
    counts = fallbacks(capture)
    if counts:
        told = ", ".join(f"{op} ({count:,})" for op, count in counts.most_common(MAX_ROWS))
        more = f" and {len(counts) - MAX_ROWS} others" if len(counts) > MAX_ROWS else ""
        console.print(_safe(f"no kernel for GPUs, would run on the CPU: {told}{more}"))


def _matrix(console: Console, title: str, seen: dict[str, Counter[str]], logical: tuple[str, ...]) -> None:
    if not seen:
        return
    devices = [name for name in logical if any(counts[name] for counts in seen.values())]
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    table.add_column(title, overflow="fold")
    for device in devices:
        table.add_column(device, justify="right")
    rows = sorted(seen.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    for name, counts in rows[:MAX_ROWS]:
        table.add_row(_safe(name), *(f"{counts[device]:,}" if counts[device] else "" for device in devices))
    if len(rows) > MAX_ROWS:
        others = Counter[str]()
        for _, counts in rows[MAX_ROWS:]:
            others.update(counts)
        table.add_row(f"{len(rows) - MAX_ROWS} others", *(f"{others[device]:,}" for device in devices))
    console.print(table)


def _evidence(console: Console, report: Report) -> None:
    broken = [one for one in report.expectations if one.status in (Status.FAIL, Status.WARN)]
    for one in broken[:MAX_EVIDENCE]:
        console.print(_safe(f"{shown(one.where)}: {_told(one)}"))
    if len(broken) > MAX_EVIDENCE:
        console.print(f"… and {len(broken) - MAX_EVIDENCE} more")


def _told(one: Expectation) -> str:
    text = f"{one.code} {one.subject}: {one.observed}".strip()
    if one.evidence:
        text += f" ({'; '.join(one.evidence)})"
    return f"{text}. {one.fix[0].upper()}{one.fix[1:]}." if one.fix else text


def _safe(text: str) -> str:
    """Text on one line, without what a terminal or rich would obey."""
    return escape(printable(" ".join(text.split())))


def shown(where: Where | None) -> str:
    """A place with its path relative to the working directory, "" for none."""
    if where is None:
        return ""
    relative = os.path.relpath(where.path)
    return f"{where.path if relative.startswith('..') else relative}:{where.row}"
