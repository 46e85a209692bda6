"""The Plan as JSON."""

from __future__ import annotations

import json
from typing import Any

from gpulint.analysis.plan import Plan
from gpulint.output.plan_text import Placed, place
from gpulint.sources.source import Source

VERSION = 1
"""Version of the form; grows when a field changes its meaning or goes."""


def render(plan: Plan, source: Source) -> str:
    """One object: `version`, `path`, `graph_mode`, `complete`, `notes[]`, `bounds[]`. Rows and columns start at 1.

    `cell` is the index among all cells of a notebook, from 0, or null; rows then count inside the cell.
    """
    placed = place(plan, source)
    return json.dumps(
        {
            "version": VERSION,
            "path": plan.path,
            "graph_mode": plan.graph_mode,
            "complete": plan.is_complete,
            "notes": [_note(one) for one in placed],
            "bounds": [{"bound": bound, "filename": site.path} for bound, site in plan.bounds],
        },
        indent=2,
        ensure_ascii=False,
    )


def _note(placed: Placed) -> dict[str, Any]:
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
