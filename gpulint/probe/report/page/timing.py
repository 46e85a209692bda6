"""The section Time: the parts of the training time by device, phase, step and line."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from gpulint.probe.measures.time_spent import DeviceTime, PhaseTime, TimeSpent
from gpulint.probe.measures.time_words import duration, part_name, percent
from gpulint.probe.report import RunReport
from gpulint.probe.report.page import steps
from gpulint.probe.report.page.figures import bar, in_milliseconds, legend
from gpulint.probe.report.page.markup import Child, tag
from gpulint.probe.report.page.parts import chip, code, link, sortable, table
from gpulint.probe.report.page.places import Places

SLOWEST = 5
"""Steps that are listed."""


def section(report: RunReport, places: Places) -> Iterator[Child]:
    """Every number of the summary's bar, and what it consists of."""
    spent, on_gpu = report.time, report.capture.on_gpu
    if spent is None:
        yield tag("p", "Fewer than two training steps were seen.", class_="empty")
        return
    yield tag("div", steps.figure(spent, on_gpu), class_="wide")
    yield legend(((part.name, "") for part in spent.shown), on_gpu)
    yield tag("h3", "Parts")
    yield table(
        ("part", "a step", "in all", "share"),
        (
            [
                part_name(part.name, on_gpu),
                _time(part.seconds / spent.steps),
                _time(part.seconds),
                sortable(percent(part.share), part.share),
            ]
            for part in spent.shown
        ),
        numbers={1, 2, 3},
        narrow=True,
    )
    if spent.why_unknown:
        yield tag("p", f"How busy the devices were is unknown: {spent.why_unknown}.", class_="hint")
    if spent.first is not None and spent.first.parts:
        first = spent.first
        yield tag("h3", "Until the first step ended")
        yield tag(
            "p",
            f"{duration(first.seconds)} from the import of TensorFlow, which are no part of the training time.",
            class_="hint",
        )
        yield table(
            ("part", "in all", "share"),
            (
                [part_name(one.name, on_gpu), _time(one.seconds), sortable(percent(one.share), one.share)]
                for one in first.parts
            ),
            numbers={1, 2},
            narrow=True,
        )
    if spent.devices:
        yield tag("h3", "Devices")
        yield table(
            ("device", "busy", "kernels a step", "source"), map(_device, spent.devices), numbers={1, 2}, narrow=True
        )
    if spent.phases:
        yield tag("h3", "Phases")
        yield tag("div", (_phase(phase, on_gpu) for phase in spent.phases), class_="phases")
    if spent.by_line:
        yield tag("h3", "Lines")
        yield table(
            ("line", "part", "what", "times", "each", "in all", "share"),
            (
                [
                    link(places, one.where),
                    part_name(one.name, on_gpu),
                    code(one.detail) if one.detail else None,
                    f"{one.times:,}" if one.times else None,
                    _time(one.seconds / one.times) if one.times else None,
                    _time(one.seconds),
                    _share(one.seconds, spent),
                ]
                for one in spent.by_line
            ),
            numbers={3, 4, 5, 6},
        )
    slowest = sorted(spent.each, key=lambda step: -step.seconds)[:SLOWEST]
    if len(spent.each) > SLOWEST and slowest[0].parts:
        yield tag("h3", "Slowest steps")
        yield table(
            ("step", "time", "parts"),
            (
                [f"{step.number:,}", _time(step.seconds), in_milliseconds(step.parts.items(), on_gpu)]
                for step in slowest
            ),
            numbers={0, 1},
        )
    if spent.tracings:
        yield tag("h3", "Traces and compilations")
        yield table(
            ("function", "what", "times", "in all", "because of", "called at"),
            (
                [
                    code(one.function),
                    {"trace": "trace", "xla": "XLA compilation"}.get(one.kind, one.kind),
                    f"{one.count:,}",
                    _time(one.seconds),
                    "; ".join(one.causes),
                    link(places, one.where),
                ]
                for one in spent.tracings
            ),
            numbers={2, 3},
        )


def _time(seconds: float) -> Element:
    return sortable(duration(seconds), seconds)


def _share(seconds: float, spent: TimeSpent) -> Element | None:
    return sortable(percent(seconds / spent.seconds), seconds) if spent.seconds else None


def _device(one: DeviceTime) -> list[Child]:
    return [
        chip(one.device),
        percent(one.busy_share) if one.busy_share is not None else "unknown",
        f"{one.kernels_per_step:,.0f}" if one.kernels_per_step is not None else None,
        {"tracer": "device tracer", "nvml": "driver (NVML)"}.get(one.source, one.source),
    ]


def _phase(phase: PhaseTime, on_gpu: bool) -> Element:
    said = in_milliseconds(((part.name, part.seconds) for part in phase.parts), on_gpu)
    return tag(
        "div",
        tag(
            "p",
            tag("b", phase.name),
            " ",
            tag("span", f"{duration(phase.seconds)}, {phase.steps:,} steps", class_="aside"),
        ),
        bar([(part.name, part.share) for part in phase.parts], f"{phase.name}: {said}"),
    )
