"""The report for a terminal: the answer first, the checks on one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.text import Text

from gpulint.probe.advice.coverage import is_covered
from gpulint.probe.advice.words import gain, holders
from gpulint.probe.agent.garbage import GARBAGE
from gpulint.probe.agent.reads import READ
from gpulint.probe.capture.contents import Capture
from gpulint.probe.cluster.worker_text import device_name
from gpulint.probe.expectations.expectation import Expectation, Status
from gpulint.probe.measures.curves import curves
from gpulint.probe.measures.device_words import listed
from gpulint.probe.measures.holders import CPU, HOST
from gpulint.probe.measures.reasons import has_gpu
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_spent import TimeSpent
from gpulint.probe.measures.time_words import between_steps, duration, percent
from gpulint.probe.report import RunReport, located
from gpulint.probe.report.failure import failure
from gpulint.probe.report.first_step import until_first_step
from gpulint.probe.report.header import (
    SIMULATED,
    ending,
    header,
    missing_kernels,
    own_cost,
    unseen,
    unused_cards,
)
from gpulint.probe.report.layout import DEFAULT, beside, block, clean, columns, printed
from gpulint.probe.report.matrices import Matrix, logged, operations, variables
from gpulint.probe.report.sparkline import sparkline
from gpulint.probe.report.title import title
from gpulint.probe.report.workers import WORKER_COLUMNS

MAX_ROWS = 12
"""Rows of a matrix: the most frequent operations."""
CURVE_WIDTH = 40
BAR_WIDTH = 60
MUCH = 0.2
"""Share of the time from which Python between steps is shown by line."""
MOST_LINES = 3
MAX_UNTOUCHED = 5
"""Findings that the run leaves open for one reason, by line."""

PARTS = {
    "gpu": "GPU",
    "collective": "all-reduce",
    "copy": "copies",
    "input": "input",
    "trace": "trace",
    "launch": "launch",
    "python": "Python",
    "checkpoint": "checkpoint",
    "other": "other",
    "unrecorded": "not recorded",
}
"""Short names of the parts of a step."""

_COLORS = {
    "gpu": "green",
    "collective": "cyan",
    "copy": "blue",
    "input": "yellow",
    "trace": "red",
    "launch": "magenta",
    "python": "bright_black",
    "checkpoint": "bright_cyan",
    "other": "white",
    "unrecorded": "white",
}
_SHADES = "█▓▒░"
"""The longest parts of a step, where there is no color."""

_OF_PYTHON = {GARBAGE: GARBAGE, READ: "reads of tensors"}
"""Details of Python's time → their names in the report."""

STATUSES = {
    Status.FAIL: ("failed", "failed", "bold red"),
    Status.WARN: ("warning", "warnings", "yellow"),
    Status.INCONCLUSIVE: ("inconclusive", "inconclusive", "magenta"),
    Status.SKIP: ("not applicable", "not applicable", "dim"),
    Status.PASS: ("passed", "passed", "green"),
}
"""A status in words, of one check and of several, with its style."""

_PLACING = frozenset({"strategy-spread", "variables-mirrored", "scope-placement", "no-cpu-fallback", "gpu-idle"})
"""Checks whose violation the tables by device explain."""

_GROWING = frozenset({"mem-leak", "host-growth", "mem-headroom", "simulated-memory", "mem-balance"})
"""Checks whose violation the memory over the run explains."""


def render(report: RunReport, color: bool, width: int = DEFAULT, verbose: bool = False) -> str:
    """The answer, what to change first, memory and checks; `verbose`: every check and table."""
    return printed(_lines(report, width, verbose, color), color, width)


def _lines(report: RunReport, width: int, verbose: bool, color: bool) -> Iterator[Text]:
    """The sections, with a blank line between two."""
    sections = (
        _answer(report, width, verbose),
        _step(report, width, color) if report.time is not None else iter(()),
        _changes(report, width),
        _workers(report.capture, width),
        _log(report.capture, width),
        _tables(report, width, verbose),
        _closing(report, width, verbose),
    )
    is_first = True
    for section in sections:
        lines = list(section)
        if lines and not is_first:
            yield Text()
        yield from lines
        is_first = is_first and not lines


# --------------------------------------------------------------------------------------------------- the answer


def _answer(report: RunReport, width: int, verbose: bool) -> Iterator[Text]:
    """The answer at the top: the title, the headline, the blind spots of the probe, and how the program failed."""
    capture = report.capture
    if capture.process and (said := title(report)):
        yield from _plain(said, width, "dim")
        yield Text()
    if capture.process or capture.members:
        for line in block(report.headline, width):
            yield Text(line, style="bold")
    if capture.simulated and not verbose:
        yield from _plain(SIMULATED, width, "dim")
    details = header(capture) if verbose else (*unused_cards(capture), *unseen(capture))
    for line in (one for one in (*details, *failure(capture)) if one != report.headline):
        indent = " " * (len(line) - len(line.lstrip()))
        yield from (Text(text) for text in block(line, width, indent, f"{indent}  "))


def _step(report: RunReport, width: int, color: bool) -> Iterator[Text]:
    """The parts of the mean step as a bar, and in words, longest first."""
    time = report.time
    assert time is not None
    if not time.shown or not time.steps:
        return
    parts = sorted(time.shown, key=lambda part: -part.seconds)
    glyphs = {part.name: _SHADES[min(number, len(_SHADES) - 1)] for number, part in enumerate(parts)}
    label = f"  step {duration(time.seconds / time.steps)}  "
    line = Text(label)
    for name, cells in _cells([(part.name, part.share) for part in parts], min(BAR_WIDTH, width - len(label))):
        line.append(("█" if color else glyphs[name]) * cells, style=_COLORS[name])
    yield line
    words = [f"{PARTS[part.name]} {duration(part.seconds / time.steps)} ({percent(part.share)})" for part in parts]
    if not any(one.name == "gpu" for one in parts) and has_gpu(report.capture) and not report.capture.simulated:
        words.append(f"GPU not known{f' ({time.why_unknown})' if time.why_unknown else ''}")
    yield from _listed(words, " " * len(label), width)
    yield from _plain(_spread(time), width, "dim", " " * len(label))
    if first := until_first_step(time):
        yield from _plain(first, width, "dim", " " * len(label))
    if python := _python_lines(time):
        yield from _listed(python, " " * len(label), width)


def _python_lines(time: TimeSpent) -> list[str]:
    """The lines of Python that take most time between steps, if that is a large part, as no cause tells them; and what
    other lines do in few steps, such as writing a checkpoint."""
    share = next((part.share for part in time.parts if part.name == "python"), 0.0)
    names = {"checkpoint"} | ({"python"} if share >= MUCH else set())
    lines = [one for one in time.by_line if one.name in names and one.where is not None]
    lines = [one for one in lines[:MOST_LINES] if one.seconds >= MUCH / 2 * time.seconds]
    return [
        f"{located(one.where)} {_OF_PYTHON.get(one.detail, PARTS[one.name])} "
        + (
            f"{duration(one.seconds / one.few)} in {one.few:,} of {time.steps:,} steps"
            if one.few
            else duration(one.seconds / time.steps)
        )
        for one in lines
    ]


def _cells(shares: Sequence[tuple[str, float]], width: int) -> Iterator[tuple[str, int]]:
    """Cells of each part of a bar, `width` in all; each part has at least one while there is room."""
    left, total = width, sum(share for _, share in shares) or 1.0
    for number, (name, share) in enumerate(shares):
        others = len(shares) - number - 1
        cells = left if not others else max(1, min(round(width * share / total), left - others))
        cells = min(cells, left)
        if cells > 0:
            yield name, cells
        left -= cells


def _spread(time: TimeSpent) -> str:
    """Median and slow steps; the slowest with what it did."""
    text = f"{time.worker}: " if time.worker else ""
    text += f"median {duration(time.step_median)}, 95th percentile {duration(time.step_p95)}"
    if between := between_steps(time.between, time.seconds, time.steps):
        text += f"; {between}"
    slowest = max(time.each, key=lambda one: one.seconds, default=None)
    if slowest is None or slowest.seconds < 2 * time.step_median:
        return text
    text += f"; slowest: step {slowest.number}, {duration(slowest.seconds)}"
    if slowest.parts:
        most = max(slowest.parts, key=lambda name: slowest.parts[name])
        text += f" ({PARTS[most]} {duration(slowest.parts[most])})"
    return text


def _changes(report: RunReport, width: int) -> Iterator[Text]:
    if not report.advice:
        return
    yield Text("What to change first", style="bold")
    for number, one in enumerate(report.advice, 1):
        place, first = located(one.where), f"  {number}  "
        for line in map(Text, beside(f"{place} {one.text}", gain(one, number == 1), width, first)):
            line.highlight_words([place] if place else [], "bold")
            line.highlight_regex(r"((then (training )?)?up to [\d.]+(×| %) faster|saves up to [\d.]+ \w+)$", "green")
            yield line
        said = f"{one.evidence} {one.fix} {one.code or one.cause}"
        yield from (Text(line, style="dim") for line in block(said, width, "     "))


# ---------------------------------------------------------------------------------------------------- the checks


def _closing(report: RunReport, width: int, verbose: bool) -> Iterator[Text]:
    """Memory and checks, and how the program ended."""
    yield from _memory(report, width)
    yield from _checks(report, width, verbose)
    yield from _untouched(report, width, verbose)
    if (overhead := own_cost(report.capture)) is not None:
        yield from _plain(overhead, width, "dim")
    if report.capture.members and (ended := ending(report.capture)):
        yield from _plain(f"{ended[0].upper()}{ended[1:]}.", width, "bold")


def _memory(report: RunReport, width: int) -> Iterator[Text]:
    """The peak of each device, and who held it; equal ones share a line."""
    held = {one.device: holders(one) for one in report.held}
    needed = {one.device: one.peak for one in report.held if report.capture.simulated}
    steady = {
        one.device: f", {in_words(one.allocator)} in the steps"
        for one in report.held
        if one.first is not None and one.allocator is not None and one.first > one.allocator
    }
    told: dict[str, list[str]] = {}
    aside = ("card ", "CPU:") if report.capture.simulated else ("card ",)
    for curve in curves(report.capture):
        if (curve.subject == CPU and HOST in held) or not curve.peak:
            continue
        peak = max(curve.peak, needed.get(curve.subject, 0))
        if curve.unit == "bytes" and not curve.subject.startswith(aside) and report.capture.tensorflow:
            limit = f" of {in_words(curve.limit)}" if curve.limit else ""
            whose = f": {held[curve.subject]}" if held.get(curve.subject) else ""
            what = "needed" if curve.limit and peak > curve.limit else "peak"  # refused allocations are included
            told.setdefault(f"{what} {in_words(peak)}{limit}{steady.get(curve.subject, '')}{whose}", []).append(
                device_name(curve.subject)
            )
    parts = [f"{listed(devices)} {text}" for text, devices in told.items()]
    if parts:
        yield from _listed(parts, "Memory  ", width)


def _checks(report: RunReport, width: int, verbose: bool) -> Iterator[Text]:
    counts = Counter(one.status for one in report.expectations)
    if not counts:
        yield Text("Checks  nothing to check")
        return
    shown = [
        one
        for one in report.expectations
        if verbose
        or (one.status in (Status.FAIL, Status.WARN) and not is_covered(one, report.advice))
        or _is_stated(one)
    ]
    said = ", ".join(f"{counts[one]} {STATUSES[one][counts[one] != 1]}" for one in Status if counts[one])
    folded = "" if len(shown) == len(report.expectations) else " (-v shows them)"
    yield from _plain(f"{said}{folded}", width, "", "Checks  ")
    for one in shown:
        yield from _check(one, width, verbose)


def _is_stated(one: Expectation) -> bool:
    """Whether it is undecided although the user stated it."""
    return one.status is Status.INCONCLUSIVE and one.id.startswith("expect")


def _check(one: Expectation, width: int, verbose: bool) -> Iterator[Text]:
    word, _, style = STATUSES[one.status]
    first, rest = f"  {word}  ", " " * 11
    code = f"{one.code} " if one.code else ""
    lines = list(beside(f"{code}{one.subject}", located(one.where), width, f"{first:<11}"))
    yield Text.assemble("  ", (word, style), lines[0][2 + len(word) :])
    yield from (Text(line) for line in lines[1:])
    if one.status in (Status.PASS, Status.SKIP):
        yield from (Text(line, style="dim") for line in block(one.observed, width, rest))
        return
    seen = one.observed if one.id == "prediction" else f"expected: {one.expected}; observed: {one.observed}"
    yield from (Text(line) for line in block(seen, width, rest))
    for evidence in one.evidence:
        yield from (Text(line) for line in block(evidence, width, f"{rest}- "))
    if one.fix:
        yield from (Text(line) for line in block(f"{one.fix[0].upper()}{one.fix[1:]}.", width, rest))


def _untouched(report: RunReport, width: int, verbose: bool) -> Iterator[Text]:
    """Findings that the run neither confirms nor refutes, by reason, and those that a failed program did not reach."""
    undecided = [one for one in report.expectations if one.id == "prediction" and one.status is Status.INCONCLUSIVE]
    advised = {one.where for one in report.advice}
    left = [one for one in undecided if one.where is not None and one.where not in advised]
    if not verbose:
        for why in dict.fromkeys(one.observed for one in left):
            alike = [f"{located(one.where)} {one.code}" for one in left if one.observed == why]
            more = [f"{len(alike) - MAX_UNTOUCHED} more"] if len(alike) > MAX_UNTOUCHED else []
            said = ", ".join([*alike[:MAX_UNTOUCHED], *more])
            yield from _plain(said, width, "dim", f"{why[0].upper()}{why[1:]}  ")
        for one in undecided:
            if one.where is None:
                yield from _plain(f"{one.subject}: {one.observed}", width, "dim")


# ---------------------------------------------------------------------------------------------------- the tables


def _workers(capture: Capture, width: int) -> Iterator[Text]:
    if capture.members:
        rows = [[name for name, _ in WORKER_COLUMNS]]
        rows += [[clean(value(one)) for _, value in WORKER_COLUMNS] for one in capture.members]
        yield from _rows(rows, width, frozenset())


def _log(capture: Capture, width: int) -> Iterator[Text]:
    """The placement log, as a fallback."""
    if capture.executions or capture.nodes or (capture.process and not capture.tensorflow):
        return
    for name, log in capture.logs.items():
        if log.lines and (log.placements or not capture.process):
            torn = f", {log.torn} torn" if log.torn else ""
            yield from _plain(f"{name}: {log.lines} lines, {log.placements} of them placements{torn}", width)
        yield from _matrix(logged(log, capture), width)
        for message in log.messages:
            yield from _plain(message, width)


def _tables(report: RunReport, width: int, verbose: bool) -> Iterator[Text]:
    """Operations and variables by device, and memory over the run, where a check needs them as evidence."""
    capture = report.capture
    broken = {one.id for one in report.expectations if one.status in (Status.FAIL, Status.WARN)}
    if verbose or broken & _PLACING:
        yield from _matrix(operations(capture), width)
        yield from _matrix(variables(capture), width)
    if verbose or broken & _GROWING:
        yield from _curves(capture, width)
    for line in missing_kernels(capture):
        yield from _plain(line, width)


def _matrix(matrix: Matrix, width: int) -> Iterator[Text]:
    if not matrix.rows:
        return
    shown = [(clean(name), counts) for name, counts in matrix.rows[:MAX_ROWS]]
    if (others := len(matrix.rows) - MAX_ROWS) > 0:
        shown.append((f"{others} others", matrix.beyond(MAX_ROWS)))
    rows = [[matrix.title, *(clean(device_name(device)) for device in matrix.devices)]]
    rows += [
        [name, *(f"{counts[device]:,}" if counts[device] else "" for device in matrix.devices)]
        for name, counts in shown
    ]
    yield from _rows(rows, width, frozenset(range(1, len(rows[0]))))


def _curves(capture: Capture, width: int) -> Iterator[Text]:
    """A line for each device, card and the host, all over the whole run."""
    seen = [curve for curve in curves(capture) if curve.unit == "bytes" and curve.peak]
    if not seen or not capture.tensorflow:
        return
    rows = [["memory", "over the run", "at the end", "peak", "limit"]]
    for curve in seen:
        line = sparkline([value for _, value in curve.lines[0][1]], CURVE_WIDTH, low=0)
        limit = in_words(curve.limit) if curve.limit else ""
        rows.append([clean(device_name(curve.subject)), line, in_words(curve.last), in_words(curve.peak), limit])
    yield from _rows(rows, width, frozenset({2, 3, 4}))


def _rows(rows: Sequence[Sequence[str]], width: int, numbers: frozenset[int]) -> Iterator[Text]:
    for number, line in enumerate(columns(rows, width, numbers)):
        yield Text(line, style="bold" if number == 0 else "")


# ---------------------------------------------------------------------------------------------------- the lines


def _plain(text: str, width: int, style: str = "", first: str = "") -> Iterator[Text]:
    for line in block(text, width, first):
        yield Text(line, style=style)


def _listed(parts: Sequence[str], first: str, width: int) -> Iterator[Text]:
    """Short texts with dots between them; a text stays on one line if it fits."""
    room = width - len(first)
    lines: list[str] = []
    for part in map(clean, parts):
        if lines and len(lines[-1]) + 3 + len(part) <= room:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    for number, line in enumerate(lines):
        yield from _plain(line, width, "", first if number == 0 else " " * len(first))
