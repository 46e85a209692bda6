"""The Plan as JSON."""

from __future__ import annotations

from typing import Any

from gpulint.analysis.plan.plan import Plan
from gpulint.output.escapes import json_text
from gpulint.output.plan_text import PlacedNote, Stop, placed_notes, stops
from gpulint.sources.source import ReadSource, Source

VERSION = 2
"""Version of the format; increases when a field changes its meaning or is removed."""


def render(plan: Plan, source: Source, read: ReadSource) -> str:
    """One object: `version`, `filename`, `graph_mode`, `complete`, `notes[]`, `not_followed[]`.

    Rows and columns start at 1. `cell` is the index among all cells of a notebook, from 0, or null; rows then count
    inside the cell.
    """
    placed = placed_notes(plan, source)
    return json_text(
        {
            "version": VERSION,
            "filename": source.path,
            "graph_mode": plan.graph_mode,
            "complete": plan.is_complete,
            "notes": [_note(one) for one in placed],
            "not_followed": [_stop(one) for one in stops(plan, source, read)],
        }
    )


def _stop(stop: Stop) -> dict[str, Any]:
    span = stop.span
    return {
        "bound": stop.bound,
        "why": stop.why,
        "filename": stop.path,
        "location": {"row": span.row, "column": span.column} if span is not None else None,
        "cell": span.cell if span is not None else None,
    }


def _note(placed: PlacedNote) -> dict[str, Any]:
    note, span = placed.note, placed.span
    return {
        "filename": span.path,
        "location": {"row": span.row, "column": span.column},
        "end_location": {"row": span.end_row, "column": span.end_column},
        "cell": span.cell,
        "kind": note.kind,
        "text": placed.text,
        "scopes": list(note.scopes),
        "certainty": note.certainty,
        "because": note.because or None,
        "via": [{"function": function, "row": at.row, "cell": at.cell} for function, at in placed.via],
    }
