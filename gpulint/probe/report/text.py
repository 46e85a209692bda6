"""The report for a terminal."""

from __future__ import annotations

from io import StringIO

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gpulint.output.escapes import printable
from gpulint.probe.capture.contents import Capture
from gpulint.probe.cluster.worker_text import device_name
from gpulint.probe.expectations.expectation import Expectation, Status
from gpulint.probe.measures.curves import curves
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.report import RunReport, located
from gpulint.probe.report.failure import failure
from gpulint.probe.report.header import header, missing_kernels, verdict
from gpulint.probe.report.matrices import Matrix, logged, operations, variables
from gpulint.probe.report.sparkline import sparkline
from gpulint.probe.report.workers import WORKER_COLUMNS

WIDTH = 120
MAX_ROWS = 12
"""Rows of a matrix: the most frequent operations."""
CURVE_WIDTH = 50
MAX_EVIDENCE = 10
MAX_HELD = 6
"""Passed expectations that are listed; the others are counted."""

_STYLES = {
    Status.FAIL: "bold red",
    Status.WARN: "yellow",
    Status.INCONCLUSIVE: "magenta",
    Status.SKIP: "dim",
    Status.PASS: "green",
}


def render(report: RunReport, color: bool) -> str:
    """Header, expectations, devices, evidence, and the verdict in one line."""
    written = StringIO()
    console = Console(
        file=written, width=WIDTH, force_terminal=color, no_color=not color, highlight=False, legacy_windows=False
    )
    for line in header(report.capture):
        console.print(_safe(line))
    for line in failure(report.capture):
        console.print(_safe(line))
    _expectations(console, report)
    _workers(console, report.capture)
    _matrix(console, operations(report.capture))
    _log(console, report.capture)
    _matrix(console, variables(report.capture))
    _memory(console, report.capture)
    for line in missing_kernels(report.capture):
        console.print(_safe(line))
    _evidence(console, report)
    console.print(f"[bold]{_safe(verdict(report))}[/bold]")
    return written.getvalue()


def _expectations(console: Console, report: RunReport) -> None:
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
            _safe(located(one.where)),
        )
    console.print(table)
    if len(held) > MAX_HELD:
        console.print(f"… and {len(held) - MAX_HELD} more that hold")


def _workers(console: Console, capture: Capture) -> None:
    if not capture.members:
        return
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for name, _ in WORKER_COLUMNS:
        table.add_column(name, overflow="fold")
    for one in capture.members:
        table.add_row(*(_safe(value(one)) for _, value in WORKER_COLUMNS))
    console.print(table)


def _log(console: Console, capture: Capture) -> None:
    """The placement log, as a fallback."""
    if capture.executions or capture.nodes or (capture.process and not capture.tensorflow):
        return
    for name, log in capture.logs.items():
        if log.lines:
            torn = f", {log.torn} torn" if log.torn else ""
            console.print(_safe(f"{name}: {log.lines} lines, {log.placements} of them placements{torn}"))
        _matrix(console, logged(log, capture))
        for message in log.messages:
            console.print(_safe(message))


def _matrix(console: Console, matrix: Matrix) -> None:
    if not matrix.rows:
        return
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    table.add_column(matrix.title, overflow="fold")
    for device in matrix.devices:
        table.add_column(_safe(device_name(device)), justify="right")
    shown_rows = [(_safe(name), counts) for name, counts in matrix.rows[:MAX_ROWS]]
    if (others := len(matrix.rows) - MAX_ROWS) > 0:
        shown_rows.append((f"{others} others", matrix.beyond(MAX_ROWS)))
    for name, counts in shown_rows:
        table.add_row(name, *(f"{counts[device]:,}" if counts[device] else "" for device in matrix.devices))
    console.print(table)


def _memory(console: Console, capture: Capture) -> None:
    """A line for each device, card and the host, all over the whole run."""
    seen = [curve for curve in curves(capture) if curve.unit == "bytes"]
    if not seen or not capture.tensorflow:
        return
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    table.add_column("memory", overflow="fold")
    table.add_column("over the run")
    for name in ("at the end", "peak", "limit"):
        table.add_column(name, justify="right")
    for curve in seen:
        line = sparkline([value for _, value in curve.lines[0][1]], CURVE_WIDTH, low=0)
        limit = in_words(curve.limit) if curve.limit else ""
        table.add_row(_safe(device_name(curve.subject)), line, in_words(curve.last), in_words(curve.peak), limit)
    console.print(table)


def _evidence(console: Console, report: RunReport) -> None:
    broken = [one for one in report.expectations if one.status in (Status.FAIL, Status.WARN)]
    for one in broken[:MAX_EVIDENCE]:
        place = f"{located(one.where)}: " if one.where is not None else ""
        console.print(_safe(place + _told(one)))
    if len(broken) > MAX_EVIDENCE:
        console.print(f"… and {len(broken) - MAX_EVIDENCE} more")


def _told(one: Expectation) -> str:
    text = f"{one.code} {one.subject}: {one.observed}".strip()
    if one.evidence:
        text += f" ({'; '.join(one.evidence)})"
    return f"{text}. {one.fix[0].upper()}{one.fix[1:]}." if one.fix else text


def _safe(text: str) -> str:
    """One line of text without control characters or rich markup."""
    return escape(printable(" ".join(text.split())))
