"""All events of a plan, for authors of rules: class, fields and place of each."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

from gpulint.analysis.domain.context import DeviceScope, Loop, Where
from gpulint.analysis.domain.values.base import Arguments, Value
from gpulint.analysis.domain.values.datasets import Step
from gpulint.analysis.plan.events import Event
from gpulint.analysis.plan.plan import Plan
from gpulint.analysis.queries.descriptions import describe
from gpulint.analysis.queries.plan_notes import strategy_name
from gpulint.output.escapes import json_text, printable
from gpulint.places import Site, Span
from gpulint.sources.source import ReadSource, Source
from gpulint.syntax.spans import spans


def render(plan: Plan, source: Source, read: ReadSource) -> str:
    """A line for each event, in evaluation order: `row:column  Event  field=value, …`."""
    places = _places(plan, source, read)
    lines = []
    for event in plan.events:
        told = ", ".join(f"{name}={value}" for name, value in _fields(event, places).items())
        lines.append(f"{_at(event.site, plan, places):<10} {type(event).__name__:<20} {printable(told)}".rstrip())
    return "\n".join(lines) + "\n" if lines else "The program has no event.\n"


def render_json(plan: Plan, source: Source, read: ReadSource) -> str:
    """`[{"event", "filename", "location", "fields"}]`, the fields in words."""
    places = _places(plan, source, read)
    return json_text(
        [
            {
                "event": type(event).__name__,
                "filename": source.path if event.site.path == plan.path else event.site.path,
                "location": _location(places.get(event.site)),
                "fields": _fields(event, places),
            }
            for event in plan.events
        ]
    )


Places = dict[Site, Span]


def _places(plan: Plan, source: Source, read: ReadSource) -> Places:
    """The spans of all sites in the events."""
    named = {site for event in plan.events for site in _sites(event)}
    found: Places = {}
    for path in {site.path for site in named}:
        file = source if path == plan.path else read(path)
        if file is not None:
            known = spans(file, {site.node for site in named if site.path == path and site.node})
            in_cell = file.cells.in_cell if file.cells is not None else lambda span: span
            found |= {Site(path, node): in_cell(span) for node, span in known.items()}
    return found


def _sites(event: Event) -> list[Site]:
    held = [getattr(event, field.name) for field in fields(event)]
    held += [one for value in held if type(value) is tuple for one in value]
    return [value for value in held if isinstance(value, Site)]


def _location(span: Span | None) -> dict[str, int] | None:
    return {"row": span.row, "column": span.column} if span is not None else None


def _at(site: Site, plan: Plan, places: Places) -> str:
    span = places.get(site)
    row = f"{span.row}:{span.column}" if span is not None else "?"
    cell = f"cell {span.cell + 1} " if span is not None and span.cell is not None else ""
    return cell + row if site.path == plan.path else f"{os.path.basename(site.path)}:{row}"


def _fields(event: Event, places: Places) -> dict[str, str]:
    """The fields of an event as text, without its site; of the moment only what differs from the start of a program."""
    return {
        field.name: _written(getattr(event, field.name), places)
        for field in fields(event)
        if field.name not in ("site", "where")
    } | _moment(event.where)


def _moment(where: Where) -> dict[str, str]:
    """The parts of a moment that differ from the start of a program."""
    context = where.context
    told = {
        "in": " › ".join(
            [f"scope of {strategy_name(one.strategy)}" for one in context.scopes]
            + [f"device {one.device or '?'}" for one in context.devices]
            + ["replica"] * (context.replica is not None)
            + ["tf.function"] * (context.traced is not None)
            + ["loop"] * len(context.loops)
        ),
        "conditions": str(len(where.path)) if where.path else "",
    }
    return {name: text for name, text in told.items() if text}


def _written(value: Any, places: Places) -> str:
    if isinstance(value, Value):
        return describe(value)
    if isinstance(value, Site):
        span = places.get(value)
        return f"line {span.row}" if span is not None else os.path.basename(value.path)
    if isinstance(value, Arguments):
        parts = [describe(one) for one in value.positional]
        parts += [f"{name}={describe(one)}" for name, one in value.keywords.items()]
        return "(" + ", ".join(parts + ["…"] * value.open) + ")"
    if isinstance(value, Loop):
        return "loop" if value.iterable is None else f"loop over {describe(value.iterable)}"
    if isinstance(value, Step):
        return value.name
    if isinstance(value, DeviceScope):
        return f"device {value.device or '?'}" + ", chosen at run time" * value.chosen
    if type(value) is tuple:
        return "(" + ", ".join(_written(one, places) for one in value) + ")"
    return repr(value) if isinstance(value, (str, int, float, bool, type(None))) else str(value)
