"""JSON schema of the probe's report, for programs that read it."""

from __future__ import annotations

from gpulint.output.json_schema import (
    COUNT,
    COUNT_OR_NULL,
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
from gpulint.probe.expectations.expectation import Level, Status
from gpulint.probe.report.json import VERSION

_STATUS: Schema = {"type": ["integer", "null"]}


def _located(properties: Schema) -> Schema:
    """An object with a line of the program, null if it is unknown; `cell` only in a notebook."""
    return of_object({"filename": TEXT_OR_NULL, "row": COUNT_OR_NULL, **properties}, {"cell": COUNT})


_PARTS = of_array(of_object({"name": TEXT, "seconds": NUMBER, "share": NUMBER_OR_NULL}))
_FRAME = _located({"function": TEXT_OR_NULL})
_FAILURE = of_object(
    {"message": TEXT, "frames": of_array(_FRAME), "exact": FLAG, "means": TEXT_OR_NULL, "code": TEXT_OR_NULL}
)
_RUN = of_object(
    {
        "command": {},
        "status": _STATUS,
        "signal": {"type": ["integer", "string", "null"]},
        "reason": TEXT_OR_NULL,
        "seconds": NUMBER_OR_NULL,
        "error": TEXT_OR_NULL,
        "failure": or_null(_FAILURE),
        "worker": {},
    }
)
_SIMULATED = of_object(
    {"gpus": COUNT, "memory": COUNT_OR_NULL, "limits": {}, "memory_is_estimate": FLAG, "fallbacks": of_table(COUNT)}
)
_DEVICE_TIME = of_object({"busy_share": NUMBER_OR_NULL, "kernels_per_step": NUMBER_OR_NULL})
_PHASE = of_object({"name": TEXT, "began": NUMBER, "seconds": NUMBER, "steps": COUNT, "parts": _PARTS})
_TRACING = _located(
    {
        "function": TEXT,
        "kind": TEXT,
        "count": COUNT,
        "seconds": NUMBER,
        "causes": TEXTS,
        "again": COUNT,
        "again_seconds": NUMBER,
    }
)
_TIME = of_object(
    {
        "worker": TEXT_OR_NULL,
        "seconds": NUMBER,
        "steps": COUNT,
        "step": of_object({"median": NUMBER_OR_NULL, "p95": NUMBER_OR_NULL}),
        "parts": _PARTS,
        "unrecorded": NUMBER,
        "devices": of_table(_DEVICE_TIME),
        "unknown": TEXT_OR_NULL,
        "first_step": or_null(of_object({"seconds": NUMBER, "parts": _PARTS})),
        "phases": of_array(_PHASE),
        "by_line": of_array(_located({"part": TEXT, "seconds": NUMBER, "count": COUNT, "detail": TEXT})),
        "operations_per_step": NUMBER_OR_NULL,
        "launch_cost": NUMBER_OR_NULL,
        "tracings": of_array(_TRACING),
    }
)
_ADVICE = _located(
    {
        "rank": COUNT,
        "cause": TEXT,
        "code": TEXT_OR_NULL,
        "text": TEXT,
        "evidence": TEXT,
        "fix": TEXT,
        "gain": of_object({"seconds": NUMBER_OR_NULL, "speedup": NUMBER_OR_NULL}),
    }
)
_ENVIRONMENT = of_object(
    {
        "tensorflow": TEXT_OR_NULL,
        "keras": TEXT_OR_NULL,
        "python": TEXT_OR_NULL,
        "lost": of_array(of_object({"evidence": TEXT, "reason": TEXT})),
    }
)
_EXPECTATION = of_object(
    {
        "id": TEXT,
        "code": TEXT_OR_NULL,
        "level": of_values(Level),
        "status": of_values(Status),
        "subject": TEXT,
        "expected": TEXT,
        "observed": TEXT,
        "origin": or_null(_located({})),
        "evidence": TEXTS,
        "fix": TEXT_OR_NULL,
    }
)
_PLACEMENT = _located(
    {
        "op": TEXT,
        "dtype": TEXT_OR_NULL,
        "requested": TEXT_OR_NULL,
        "assigned": TEXT,
        "count": COUNT,
        "reason": TEXT_OR_NULL,
    }
)
_GRAPH_PLACEMENT = {**_PLACEMENT, "properties": {**_PLACEMENT["properties"], "layer": TEXT}}
_VARIABLE = _located({"name": TEXT, "shape": of_array({}), "dtype": TEXT, "bytes": COUNT_OR_NULL, "device": TEXT})
_COPY = _located(
    {
        "op": TEXT,
        "from": TEXT,
        "to": TEXT,
        "for": TEXT_OR_NULL,
        "bytes": COUNT_OR_NULL,
        "in_step": FLAG,
        "mixed": FLAG,
        "count": COUNT,
    }
)
_MEMORY = of_object(
    {
        "holders": of_array(_located({"device": TEXT, "group": TEXT, "bytes": COUNT})),
        "devices": of_array(
            of_object({"device": TEXT, "peak": COUNT, "allocator": COUNT_OR_NULL, "process": COUNT_OR_NULL})
        ),
        "samples": of_array(of_object({"t": NUMBER, "phase": TEXT, "devices": of_table(of_array(COUNT))})),
    }
)
_CARD = of_object(
    {
        "t": NUMBER,
        "bus": TEXT,
        "name": TEXT,
        **dict.fromkeys(("total", "used", "by_program", "by_others", "utilisation"), COUNT_OR_NULL),
    }
)
_RETRACE = _located({"cause": TEXT, "argument": TEXT_OR_NULL, "example": TEXT_OR_NULL, "count": COUNT})
_FUNCTION = _located(
    {
        "name": TEXT,
        "traces": COUNT,
        "made": COUNT,
        "jit": FLAG,
        "device": TEXT,
        "retraces": of_array(_RETRACE),
    }
)
_STRATEGY = _located({"class": TEXT, "devices": TEXTS, "replicas": COUNT})
_STEPS = _located({"name": TEXT, "count": COUNT, "seconds": NUMBER_OR_NULL})
_LOG = of_object({"lines": COUNT, "placements": COUNT, "torn": COUNT, "messages": of_array({})})
_OVERHEAD = of_object(
    {"seconds": NUMBER, "hooks": NUMBER, "counting": NUMBER, "writing": NUMBER, "share": NUMBER_OR_NULL}
)
_WORKER = {"type": "object", "required": ["job", "index", "capture"]}


def of_probe() -> Schema:
    """Schema of `probe --output-format json`."""
    return document(
        {
            "version": {"const": VERSION},
            "status": {"type": "integer"},
            "simulated": or_null(_SIMULATED),
            "run": _RUN,
            "headline": TEXT,
            "time": or_null(_TIME),
            "advice": of_array(_ADVICE),
            "environment": _ENVIRONMENT,
            "devices": of_array(of_object({"name": TEXT, "physical": FLAG})),
            "expectations": of_array(_EXPECTATION),
            "placements": of_array(_GRAPH_PLACEMENT),
            "variables": of_array(_VARIABLE),
            "copies": of_array(_COPY),
            "memory": _MEMORY,
            "resident": of_array(of_array(NUMBER)),
            "cards": of_array(_CARD),
            "strategies": of_array(_STRATEGY),
            "functions": of_array(_FUNCTION),
            "workers": or_null(of_array(_WORKER)),
            "steps": of_array(_STEPS),
            "log": of_table(_LOG),
            "overhead": or_null(_OVERHEAD),
            "faults": TEXTS,
        }
    )
