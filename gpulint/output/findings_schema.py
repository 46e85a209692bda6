"""JSON schemas of the findings that `check` prints, for programs that read them."""

from __future__ import annotations

from typing import Any

from gpulint.confidence import Confidence
from gpulint.linting.finding import Severity, SuppressedBy
from gpulint.output.formats.json_full import VERSION
from gpulint.rewriting.fix import Applicability

Schema = dict[str, Any]

_DRAFT = "http://json-schema.org/draft-07/schema#"
_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_CELL: Schema = {"type": ["integer", "null"], "minimum": 0, "description": "Index among all cells of a notebook."}


def _object(properties: Schema) -> Schema:
    """An object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _values(kind: type[Confidence] | type[Severity] | type[SuppressedBy] | type[Applicability]) -> Schema:
    return {"enum": [one.value for one in kind]}


_PLACE = _object({name: {"type": "integer", "minimum": 1} for name in ("row", "column")})
_SPAN: Schema = {"location": _PLACE, "end_location": _PLACE, "cell": _CELL}
_FINDING: Schema = {
    "filename": _TEXT,
    **_SPAN,
    "code": {"type": "string", "pattern": "^[A-Z]{1,4}[0-9]{3}$"},
    "name": _TEXT,
    "message": _TEXT,
    "why": _TEXT_OR_NULL,
    "help": _TEXT_OR_NULL,
    "cost": _TEXT_OR_NULL,
    "severity": _values(Severity),
    "confidence": _values(Confidence),
    "url": _TEXT_OR_NULL,
    "fix": {
        "anyOf": [
            {"type": "null"},
            _object(
                {
                    "applicability": _values(Applicability),
                    "message": _TEXT,
                    "edits": _array(_object({"content": _TEXT, **_SPAN})),
                }
            ),
        ]
    },
    "no_fix": _TEXT_OR_NULL,
    "noqa_row": _COUNT,
    "related": _array(_object({"filename": _TEXT, **_SPAN, "message": _TEXT})),
    "fingerprint": {"type": "string", "pattern": "^([0-9a-f]{16})?$"},
    "evidence": {"enum": ["static", "probe"]},
}


def of_json() -> Schema:
    """What `--output-format json` prints."""
    return {"$schema": _DRAFT, **_array(_object(_FINDING))}


def of_json_full() -> Schema:
    """What `--output-format json-full` prints."""
    reason = _object({"kind": _values(SuppressedBy), "reason": _TEXT})
    return {
        "$schema": _DRAFT,
        **_object(
            {
                "version": {"const": VERSION},
                "files": _COUNT,
                "files_with_tensorflow": _COUNT,
                "targets": _array(_object({"release": _TEXT, "origin": _TEXT_OR_NULL, "files": _COUNT})),
                "findings": _array(_object({**_FINDING, "suppressed_by": {"type": "null"}})),
                "suppressed": _array(_object({**_FINDING, "suppressed_by": reason})),
                "withheld": {"type": "object", "additionalProperties": _COUNT},
                "not_followed": _array(_object({"filename": _TEXT, "limit": _TEXT, "functions": _COUNT})),
                "faults": _array(_TEXT),
            }
        ),
    }


SCHEMAS = {"json": of_json, "json-full": of_json_full}
"""The schema of each format that has one."""
