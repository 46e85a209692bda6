"""The section Devices: operations and variables by device, and transfers between devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Steps, Where
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_words import percent
from gpulint.probe.report import RunReport
from gpulint.probe.report.header import cards, missing_kernels
from gpulint.probe.report.matrices import Matrix, logged, operations, variables
from gpulint.probe.report.page.markup import Child, tag
from gpulint.probe.report.page.parts import chip, code, link, matrix, table
from gpulint.probe.report.page.places import Places
from gpulint.probe.report.workers import WORKER_COLUMNS


def section(report: RunReport, transfers: Sequence[Mapping[str, Any]], places: Places) -> Iterator[Child]:
    """Devices, workers, cards, strategies, functions, steps, counts by device; `transfers` as in the JSON report."""
    capture = report.capture
    devices = list(dict.fromkeys((*capture.logical, *(name for name in capture.operations if name))))
    if devices:
        yield tag("ul", (_device(report, device) for device in devices), class_="cards")
    else:
        yield tag("p", "TensorFlow's runtime was never initialised: no device is known.", class_="empty")
    if capture.members:
        yield tag("h3", "Workers")
        yield table(
            [name for name, _ in WORKER_COLUMNS],
            ([value(one) for _, value in WORKER_COLUMNS] for one in capture.members),
            numbers={2, 3, 4},
        )
    if told := cards(capture):
        yield tag("h3", "Cards, as the driver sees them")
        yield table(
            ("card", "bus", "memory", "by this program", "by others", "devices of TensorFlow"),
            (
                [
                    card.name,
                    code(card.bus),
                    in_words(card.total),
                    _size(card.by_program),
                    _size(card.by_others),
                    "not known" if devices is None else [[chip(device), " "] for device in devices] or "none",
                ]
                for card, devices in told
            ),
            numbers={2, 3, 4},
        )
    if capture.strategies:
        yield tag("h3", "Strategies")
        names = ("strategy", "replicas", "devices", "made at")
        yield table(
            names,
            (
                [code(one.cls), str(one.replicas), [[chip(name), " "] for name in one.devices], link(places, one.where)]
                for one in capture.strategies
            ),
            numbers={1},
        )
    yield from _functions(capture, places)
    for title, seen in (
        ("Operations and graph nodes", operations(capture)),
        ("Bytes of variables", variables(capture)),
        *_logs(capture),
    ):
        if seen.rows:
            yield tag("h3", title)
            yield matrix(seen)
    yield from (tag("p", line, class_="hint") for line in missing_kernels(capture))
    yield tag("h3", "Copies between devices")
    yield from copies(report, transfers, places)


def copies(report: RunReport, told: Sequence[Mapping[str, Any]], places: Places) -> Iterator[Child]:
    """Transfers between devices, as in the JSON report; columns without values are left out."""
    if not told:
        seen = "No graph was seen." if not report.capture.nodes else "No copy between devices was observed."
        yield tag("p", seen, class_="empty")
        return
    yield tag(
        "p",
        "Data copied from one device to another. Transfers in a graph happen whenever the graph runs.",
        class_="hint",
    )
    pairs: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in told:
        pairs[one["from"]][one["to"]] += one["count"]
    targets = sorted({target for counts in pairs.values() for target in counts})
    if len(targets) > 2:
        yield matrix(Matrix("from, to", tuple(targets), tuple(sorted(pairs.items()))))
    columns = [name for name in _COPY if any(one.get(name) not in (None, "", False) for one in told)]
    yield table(
        ["from", "to", *(_COPY[name][0] for name in columns), "number", "where"],
        (
            [
                chip(one["from"]),
                chip(one["to"]),
                *(_COPY[name][1](one.get(name)) for name in columns),
                f"{one['count']:,}",
                link(places, Where(one["filename"], one["row"], one.get("cell"))) if one.get("filename") else None,
            ]
            for one in sorted(told, key=lambda one: -int(one["count"]))
        ),
        numbers={2 + len(columns)},
    )


_COPY: Mapping[str, tuple[str, Callable[[Any], Child]]] = {
    "op": ("operation", code),
    "for": ("for", lambda value: code(value) if value else None),
    "bytes": ("size", lambda value: in_words(value) if value is not None else None),
    "in_step": ("when", lambda value: "in each step" if value else None),
    "mixed": ("beside", lambda value: "inputs of other devices" if value else None),
}
"""Fields of a copy: column heading, and how a value is shown."""


def _size(size: int) -> str:
    """A size in words; that of a card is negative if the driver does not report it."""
    return in_words(size) if size >= 0 else "unknown"


def _device(report: RunReport, device: str) -> Element:
    capture = report.capture
    known = report.time.devices if report.time is not None else ()
    busy = next((one.busy_share for one in known if one.device == device), None)
    held = sum(one.bytes for one in capture.variables if one.device == device)
    peak = max((sample.devices[device][1] for sample in capture.memory if device in sample.devices), default=0)
    facts = [("operations", f"{capture.operations[device]:,}"), ("variables", in_words(held))]
    if peak:
        facts.append(("peak of memory", in_words(peak)))
    if busy is not None:
        facts.insert(0, ("computed", percent(busy)))
    return tag(
        "li",
        tag("div", chip(device)),
        tag("dl", ([tag("dt", name), tag("dd", value)] for name, value in facts)),
        class_="idle" if not capture.operations[device] else None,
    )


def _functions(capture: Capture, places: Places) -> Iterator[Child]:
    if capture.functions:
        yield tag("h3", "Functions")
        functions = sorted(capture.functions.values(), key=lambda one: (-one.traces, one.name))
        yield table(
            ("function", "traces", "compiled by XLA", "on", "called at"),
            (
                [
                    code(one.name),
                    f"{one.traces:,}",
                    "yes" if one.jit else "no",
                    chip(one.device) if one.device else None,
                    link(places, one.where),
                ]
                for one in functions
            ),
            numbers={1},
        )
    if capture.steps:
        yield tag("h3", "Training steps")
        yield table(
            ("step", "number", *(() if capture.simulated else ("mean", "slowest")), "called at"),
            (
                [
                    code(one.name),
                    f"{one.taken:,}",
                    *(() if capture.simulated else _times(one)),
                    link(places, one.where),
                ]
                for one in capture.steps.values()
            ),
            numbers={1} if capture.simulated else {1, 2, 3},
        )


def _times(steps: Steps) -> tuple[str, str]:
    return f"{1000 * steps.seconds / max(1, steps.taken):.1f} ms", f"{1000 * steps.slowest:.1f} ms"


def _logs(capture: Capture) -> list[tuple[str, Matrix]]:
    """The placement log, as a fallback."""
    if capture.executions or capture.nodes:
        return []
    return [(f"Operations in the placement log ({name})", logged(log, capture)) for name, log in capture.logs.items()]
