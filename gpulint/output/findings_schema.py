"""JSON schemas of the findings that `check` prints, for programs that read them."""

from __future__ import annotations

from gpulint.confidence import Confidence
from gpulint.linting.finding import Severity, SuppressedBy
from gpulint.output.formats.json_full import VERSION
from gpulint.output.json_schema import (
    CELL,
    COUNT,
    DRAFT,
    PLACE,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    of_array,
    of_object,
    of_table,
    of_values,
)
from gpulint.rewriting.fix import Applicability

_SPAN: Schema = {"location": PLACE, "end_location": PLACE, "cell": CELL}
_FINDING: Schema = {
    "filename": TEXT,
    **_SPAN,
    "code": {"type": "string", "pattern": "^[A-Z]{1,4}[0-9]{3}$"},
    "name": TEXT,
    "message": TEXT,
    "why": TEXT_OR_NULL,
    "help": TEXT_OR_NULL,
    "cost": TEXT_OR_NULL,
    "severity": of_values(Severity),
    "confidence": of_values(Confidence),
    "url": TEXT_OR_NULL,
    "fix": {
        "anyOf": [
            {"type": "null"},
            of_object(
                {
                    "applicability": of_values(Applicability),
                    "message": TEXT,
                    "edits": of_array(of_object({"content": TEXT, **_SPAN})),
                }
            ),
        ]
    },
    "no_fix": TEXT_OR_NULL,
    "noqa_row": COUNT,
    "related": of_array(of_object({"filename": TEXT, **_SPAN, "message": TEXT})),
    "fingerprint": {"type": "string", "pattern": "^([0-9a-f]{16})?$"},
    "evidence": {"enum": ["static", "probe"]},
}


def of_json() -> Schema:
    """Schema of `--output-format json`."""
    return {"$schema": DRAFT, **of_array(of_object(_FINDING))}


def of_json_full() -> Schema:
    """Schema of `--output-format json-full`."""
    reason = of_object({"kind": of_values(SuppressedBy), "reason": TEXT})
    return {
        "$schema": DRAFT,
        **of_object(
            {
                "version": {"const": VERSION},
                "files": COUNT,
                "files_with_tensorflow": COUNT,
                "targets": of_array(of_object({"release": TEXT, "origin": TEXT_OR_NULL, "files": COUNT})),
                "findings": of_array(of_object({**_FINDING, "suppressed_by": {"type": "null"}})),
                "suppressed": of_array(of_object({**_FINDING, "suppressed_by": reason})),
                "withheld": of_table(COUNT),
                "not_followed": of_array(of_object({"filename": TEXT, "limit": TEXT, "functions": COUNT})),
                "faults": of_array(TEXT),
            }
        ),
    }


SCHEMAS = {"json": of_json, "json-full": of_json_full}
"""The schema of each format that has one."""
