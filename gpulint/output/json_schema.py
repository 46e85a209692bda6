"""Parts of JSON schemas."""

from __future__ import annotations

from enum import Enum
from typing import Any

Schema = dict[str, Any]

DRAFT = "http://json-schema.org/draft-07/schema#"
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
TEXTS: Schema = {"type": "array", "items": TEXT}
COUNT: Schema = {"type": "integer", "minimum": 0}
COUNT_OR_NULL: Schema = {"type": ["integer", "null"], "minimum": 0}
NUMBER: Schema = {"type": "number"}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
FLAG: Schema = {"type": "boolean"}
CELL: Schema = {"type": ["integer", "null"], "minimum": 0, "description": "Index among all cells of a notebook."}


def of_object(properties: Schema, optional: Schema | None = None) -> Schema:
    """An object with exactly these keys, and perhaps the optional ones."""
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


def of_array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def of_table(values: Schema) -> Schema:
    """An object with any keys."""
    return {"type": "object", "additionalProperties": values}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [{"type": "null"}, schema]}


def of_values(kind: type[Enum]) -> Schema:
    return {"enum": [one.value for one in kind]}


PLACE = of_object({name: {"type": "integer", "minimum": 1} for name in ("row", "column")})


def document(properties: Schema) -> Schema:
    """The schema of a document that is one object with exactly these keys."""
    return {"$schema": DRAFT, **of_object(properties)}
