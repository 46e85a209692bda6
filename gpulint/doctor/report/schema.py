"""JSON schema of the doctor's report, for programs that read it."""

from __future__ import annotations

from typing import get_args

from gpulint.doctor.answer import Ended
from gpulint.doctor.report.json import VERSION
from gpulint.linting.finding import Severity
from gpulint.output.json_schema import (
    COUNT,
    FLAG,
    NUMBER,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    TEXTS,
    Schema,
    document,
    of_array,
    of_object,
    of_table,
    of_values,
    or_null,
)

_CAPABILITY = or_null({"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2})
_FINDING = {
    "code": TEXT,
    "severity": of_values(Severity),
    "message": TEXT,
    "why": TEXT,
    "help": TEXT_OR_NULL,
    "evidence": TEXTS,
}
_GPU = {"name": TEXT, "card": TEXT_OR_NULL, "bus": TEXT_OR_NULL, "capability": _CAPABILITY, "seconds": NUMBER_OR_NULL}
_CARD = {
    "index": COUNT,
    "name": TEXT,
    "uuid": TEXT,
    "bus": TEXT,
    "capability": _CAPABILITY,
    "instances": TEXTS,
    "memory": of_array(of_object({"bus": TEXT, "total": COUNT, "used": COUNT})),
}
_LIBRARY = {
    "name": TEXT,
    "path": TEXT_OR_NULL,
    "error": TEXT_OR_NULL,
    "version": TEXT_OR_NULL,
    "looked": TEXTS,
    "elsewhere": TEXTS,
}
_QUESTION = of_object(
    {"ended": {"enum": [*get_args(Ended)]}, "step": TEXT_OR_NULL, "error": TEXT_OR_NULL, "seconds": NUMBER}
)


def of_doctor() -> Schema:
    """Schema of `doctor --output-format json`."""
    return document(
        {
            "version": {"const": VERSION},
            "status": {"enum": [0, 1]},
            "verdict": TEXT,
            "findings": of_array(of_object(_FINDING)),
            "expected": TEXT_OR_NULL,
            "machine": of_object(
                {
                    "system": TEXT,
                    "architecture": TEXT,
                    "wsl": FLAG,
                    "container": TEXT_OR_NULL,
                    "pci": of_array(of_object({"bus": TEXT, "driver": TEXT_OR_NULL})),
                    "device_files": of_table(FLAG),
                    "environment": of_table(TEXT),
                }
            ),
            "python": of_object({"executable": TEXT, "version": TEXT, "distributions": of_table(TEXT)}),
            "tensorflow": of_object(
                {
                    "version": TEXT_OR_NULL,
                    "path": TEXT_OR_NULL,
                    "cuda": TEXT_OR_NULL,
                    "cudnn": TEXT_OR_NULL,
                    "rocm": FLAG,
                    "capabilities": TEXTS,
                    "gpus": of_array(of_object(_GPU)),
                }
            ),
            "driver": of_object({"version": TEXT_OR_NULL, "cuda": TEXT_OR_NULL, "error": TEXT_OR_NULL}),
            "cards": of_array(of_object(_CARD)),
            "libraries": of_array(of_object(_LIBRARY)),
            "questions": of_object(dict.fromkeys(("tensorflow", "libraries", "cards"), _QUESTION)),
        }
    )
