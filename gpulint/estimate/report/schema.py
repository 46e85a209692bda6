"""JSON schema of the estimate, for programs that read it."""

from __future__ import annotations

from typing import get_args

from gpulint.estimate.report.json import VERSION
from gpulint.estimate.result import Fits
from gpulint.estimate.time.bounds import Bound
from gpulint.output.json_schema import (
    CELL,
    COUNT,
    COUNT_OR_NULL,
    FLAG,
    NUMBER,
    TEXT,
    TEXT_OR_NULL,
    TEXTS,
    Schema,
    document,
    of_array,
    of_object,
    of_table,
    or_null,
)

_BOUNDS = ("launch", "compute", "memory", "copy")
_LINE = {"filename": TEXT_OR_NULL, "row": COUNT_OR_NULL, "cell": CELL}
_STEP = {
    "function": TEXT,
    **_LINE,
    "batch": COUNT_OR_NULL,
    "replicas": COUNT,
    "precision": TEXT,
    "compiled": FLAG,
    "eager": FLAG,
}
_MEMORY = {
    "limit": COUNT,
    "steady_peak": COUNT_OR_NULL,
    "least_peak": COUNT_OR_NULL,
    "first_step_peak": COUNT_OR_NULL,
    "process": COUNT_OR_NULL,
    "fits": {"enum": [*get_args(Fits)]},
    "largest_batch": COUNT_OR_NULL,
    "by_group": of_table(COUNT),
    "holders": of_array(of_object({**_LINE, "layer": TEXT_OR_NULL, "group": TEXT, "bytes": COUNT})),
    "changes": TEXTS,
}
_TIME = {
    "lower_bound_seconds": NUMBER,
    "active_bound": {"enum": [*get_args(Bound)]},
    "operations": COUNT,
    "flops": NUMBER,
    "bytes": NUMBER,
    "bounds": of_object(dict.fromkeys(_BOUNDS, NUMBER)),
}
_GPU = {
    "name": TEXT,
    "source": TEXT,
    "memory": or_null(of_object(_MEMORY)),
    "time": of_object(_TIME),
    "scaling": of_array(of_object({"gpus": COUNT, "speedup_at_most": NUMBER, "exchange_seconds": NUMBER})),
    "remarks": TEXTS,
}


def of_estimate() -> Schema:
    """Schema of `estimate --output-format json`."""
    return document(
        {
            "version": {"const": VERSION},
            "step": of_object(_STEP),
            "gpus": of_array(of_object(_GPU)),
            "unknown": of_array(of_object({"op": TEXT, "count": COUNT})),
            "notes": TEXTS,
            "method": TEXTS,
        }
    )
