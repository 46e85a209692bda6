"""JSON schema of what `gpulint plan` prints, for programs that read it."""

from __future__ import annotations

from gpulint.output.json_schema import (
    CELL,
    COUNT,
    DRAFT,
    FLAG,
    PLACE,
    TEXT,
    TEXT_OR_NULL,
    TEXTS,
    Schema,
    of_array,
    of_object,
    or_null,
)
from gpulint.output.plan_json import VERSION


def of_plan() -> Schema:
    """Schema of `plan --output-format json`: one plan, or an array of them for folders and several files."""
    via = of_object({"function": TEXT, "row": COUNT, "cell": CELL})
    note = of_object(
        {
            "filename": TEXT,
            "location": PLACE,
            "end_location": PLACE,
            "cell": CELL,
            "kind": TEXT,
            "text": TEXT,
            "scopes": TEXTS,
            "certainty": {"enum": ["must", "may", "unknown"]},
            "because": TEXT_OR_NULL,
            "via": of_array(via),
        }
    )
    stop = of_object({"bound": TEXT, "why": TEXT, "filename": TEXT, "location": or_null(PLACE), "cell": CELL})
    plan = of_object(
        {
            "version": {"const": VERSION},
            "filename": TEXT,
            "graph_mode": FLAG,
            "complete": FLAG,
            "notes": of_array(note),
            "not_followed": of_array(stop),
        }
    )
    return {"$schema": DRAFT, "anyOf": [plan, of_array(plan)]}
