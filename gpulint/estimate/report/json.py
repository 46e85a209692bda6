"""The estimate as one JSON object, described in docs/estimate.md."""

from __future__ import annotations

from typing import Any

from gpulint.estimate.result import Estimate, Memory, OnCard
from gpulint.estimate.time.bounds import Steps
from gpulint.output.escapes import json_text

VERSION = 1
"""Version of the format; increases when a field is removed or changes its meaning."""


def render(estimate: Estimate, color: bool = False) -> str:
    return json_text(content(estimate)) + "\n"


def content(estimate: Estimate) -> dict[str, Any]:
    """The object."""
    step = estimate.step
    return {
        "version": VERSION,
        "step": {
            "function": step.name,
            "filename": step.filename or None,
            "row": step.row or None,
            "cell": step.cell,
            "batch": step.batch,
            "replicas": step.replicas,
            "precision": step.precision,
            "compiled": step.is_compiled,
            "eager": estimate.is_eager,
        },
        "gpus": [_card(one, estimate.steps) for one in estimate.cards],
        "unknown": [{"op": name, "count": count} for name, count in estimate.unknown.most_common()],
        "notes": estimate.notes,
        "method": list(estimate.method),
    }


def _card(one: OnCard, steps: Steps) -> dict[str, Any]:
    found = one.bounds
    return {
        "name": one.card.name,
        "source": one.card.source,
        "memory": _memory(one.memory) if one.memory is not None else None,
        "time": {
            "lower_bound_seconds": found.seconds,
            "active_bound": found.active,
            "operations": steps.operations,
            "flops": steps.flops,
            "bytes": steps.bytes,
            "bounds": {
                "launch": found.launch,
                "compute": found.compute,
                "memory": found.memory,
                "copy": found.copy,
            },
        },
        "scaling": [
            {"gpus": each.gpus, "speedup_at_most": each.speedup_at_most, "exchange_seconds": each.exchange_seconds}
            for each in one.scaling
        ],
        "remarks": [one.active, *one.remarks],
    }


def _memory(memory: Memory) -> dict[str, Any]:
    return {
        "limit": memory.limit,
        "steady_peak": memory.steady_peak,
        "least_peak": memory.least_peak,
        "first_step_peak": memory.first_step_peak,
        "process": memory.process,
        "fits": memory.fits,
        "largest_batch": memory.largest_batch,
        "by_group": dict(memory.by_group),
        "holders": [
            {
                "filename": one.filename or None,
                "row": one.row or None,
                "cell": one.cell,
                "layer": one.layer or None,
                "group": one.group,
                "bytes": one.bytes,
            }
            for one in memory.holders
        ],
        "changes": list(memory.changes),
    }
