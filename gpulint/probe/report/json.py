"""The report as one JSON object."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpulint.output.escapes import json_text
from gpulint.probe.advice.advice import Advice
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Node, Where
from gpulint.probe.expectations.expectation import Expectation
from gpulint.probe.measures.failures import failure_of
from gpulint.probe.measures.fallbacks import fallbacks
from gpulint.probe.measures.reasons import OPAQUE, reason
from gpulint.probe.measures.retracing import causes_of
from gpulint.probe.measures.time_spent import Part, TimeSpent
from gpulint.probe.report import RunReport, workers

VERSION = 2
"""Version of the format; increases when a field is removed or changes its meaning."""


def render(report: RunReport, color: bool = False) -> str:
    """The object as text."""
    return json_text(content(report)) + "\n"


def content(report: RunReport) -> dict[str, Any]:
    """`run`, `headline`, `time` (null without training steps), `advice`, `environment`, `devices`, `expectations`,
    `placements`, `variables`, `copies`, `memory`, `cards`, `functions`, `strategies`, `workers` (null outside a
    cluster), `steps`, `log`, `overhead` (of gpulint itself, null if unknown), `faults`, `simulated` (null without
    simulated GPUs) and the probe's exit `status`. Rows start at 1, sizes are bytes, times seconds.

    A location in a notebook also has `cell`, the index among all cells, from 0; its row is relative to the cell.
    """
    capture = report.capture
    return {
        "version": VERSION,
        "status": report.status,
        "simulated": _simulated(capture),
        "run": {
            "command": capture.start.get("command"),
            "status": capture.end.get("status"),
            "signal": capture.end.get("signal"),
            "reason": capture.end.get("reason"),
            "seconds": capture.end.get("seconds"),
            "error": capture.error or None,
            "failure": _failure(capture),
            "worker": capture.end.get("worker"),
        },
        "headline": report.headline,
        "time": _time(report.time) if report.time is not None else None,
        "advice": [_advice(rank, one) for rank, one in enumerate(report.advice, 1)],
        "environment": {
            "tensorflow": capture.tensorflow.get("tensorflow"),
            "keras": capture.keras or None,
            "python": capture.process.get("python"),
            "lost": [{"evidence": evidence, "reason": reason} for evidence, reason in capture.lost],
        },
        "devices": [{"name": name, "physical": name in capture.physical} for name in capture.logical],
        "expectations": [_expectation(one) for one in report.expectations],
        "placements": _placements(capture),
        "variables": [
            {
                "name": one.name,
                "shape": list(one.shape),
                "dtype": one.dtype,
                "bytes": one.bytes,
                "device": one.device,
                **_place(one.where),
            }
            for one in capture.variables
        ],
        "copies": [
            {
                **_place(one.where),
                "op": one.op,
                "from": one.source,
                "to": one.target,
                "for": one.consumer or None,
                "bytes": one.bytes,
                "in_step": one.in_step,
                "mixed": one.mixed,
                "count": count,
            }
            for one, count in sorted(capture.copies.items(), key=str)
        ],
        "memory": {
            "holders": [
                {"device": one.device, "group": one.group, **_place(one.where), "bytes": one.bytes}
                for held in report.held
                for one in held.holders
            ],
            "devices": [
                {"device": one.device, "peak": one.peak, "allocator": one.allocator, "process": one.process}
                for one in report.held
            ],
            "samples": [
                {"t": one.t, "phase": one.phase, "devices": {name: list(pair) for name, pair in one.devices.items()}}
                for one in capture.memory
            ],
        },
        "resident": [list(pair) for pair in capture.resident],
        "cards": [one._asdict() for one in capture.cards],
        "strategies": [
            {"class": one.cls, "devices": list(one.devices), "replicas": one.replicas, **_place(one.where)}
            for one in capture.strategies
        ],
        "functions": [
            {
                "name": one.name,
                **_place(one.where),
                "traces": one.traces,
                "made": one.made,
                "jit": one.jit,
                "device": one.device,
                "retraces": [
                    {
                        **_place(why.where),
                        "cause": why.cause,
                        "argument": why.argument or None,
                        "example": why.example or None,
                        "count": count,
                    }
                    for why, count in causes_of(one.name, capture).most_common()
                ],
            }
            for one in capture.functions.values()
        ],
        "workers": workers.content(capture),
        "steps": [
            {
                "name": one.name,
                **_place(one.where),
                "count": one.taken,
                "seconds": None if capture.simulated else one.seconds,
            }
            for one in capture.steps.values()
        ],
        "log": {
            name: {"lines": log.lines, "placements": log.placements, "torn": log.torn, "messages": log.messages}
            for name, log in capture.logs.items()
        },
        "overhead": _overhead(capture),
        "faults": capture.faults,
    }


def _overhead(capture: Capture) -> dict[str, Any] | None:
    cost = capture.own_cost
    if cost is None:
        return None
    share = round(cost.total / capture.seconds, 6) if capture.seconds else None
    return {"seconds": round(cost.total, 6), **cost._asdict(), "share": share}


def _time(time: TimeSpent) -> dict[str, Any]:
    """The parts and `unrecorded` add up to `seconds`. `by_line`: what lines spent in a part; `count` times."""
    return {
        "worker": time.worker or None,
        "seconds": time.seconds,
        "steps": time.steps,
        "step": {"median": time.step_median, "p95": time.step_p95},
        "parts": _parts(time.parts),
        "unrecorded": time.unrecorded,
        "devices": {
            one.device: {"busy_share": one.busy_share, "kernels_per_step": one.kernels_per_step} for one in time.devices
        },
        "unknown": time.why_unknown or None,
        "first_step": {"seconds": time.first.seconds, "parts": _parts(time.first.parts)} if time.first else None,
        "phases": [
            {
                "name": one.name,
                "began": one.began,
                "seconds": one.seconds,
                "steps": one.steps,
                "parts": _parts(one.parts),
            }
            for one in time.phases
        ],
        "by_line": [
            {"part": one.name, **_place(one.where), "seconds": one.seconds, "count": one.count, "detail": one.detail}
            for one in time.by_line
        ],
        "operations_per_step": time.operations_per_step,
        "launch_cost": time.launch_cost,
        "tracings": [
            {
                "function": one.function,
                **_place(one.where),
                "kind": one.kind,
                "count": one.count,
                "seconds": one.seconds,
                "causes": list(one.causes),
                "again": one.again,
                "again_seconds": one.again_seconds,
            }
            for one in time.tracings
        ],
    }


def _parts(parts: Iterable[Part]) -> list[dict[str, Any]]:
    return [{"name": one.name, "seconds": one.seconds, "share": one.share} for one in parts]


def _advice(rank: int, one: Advice) -> dict[str, Any]:
    return {
        "rank": rank,
        "cause": one.cause,
        "code": one.code,
        **_place(one.where),
        "text": one.text,
        "evidence": one.evidence,
        "fix": one.fix,
        "gain": one.gained,
    }


def _placements(capture: Capture) -> list[dict[str, Any]]:
    eager = [
        {
            **_place(ran.where),
            "op": ran.op,
            "dtype": ran.dtype or None,
            "requested": ran.requested,
            "assigned": ran.device,
            "count": count,
            "reason": reason(ran, capture) or None,
        }
        for ran, count in sorted(capture.executions.items(), key=str)
    ]
    nodes = [
        {
            **_place(node.where),
            "op": node.op,
            "dtype": node.dtype or None,
            "requested": node.requested,
            "assigned": node.assigned,
            "layer": node.layer,
            "count": count,
            "reason": reason(node, capture) or None,
        }
        for node, count in sorted(capture.nodes.items(), key=str)
    ]
    units = [
        {
            **_place(where),
            "op": name,
            "dtype": None,
            "requested": "",
            "assigned": next((one.device for one in capture.functions.values() if one.name == name), ""),
            "count": 1,
            "reason": OPAQUE,
        }
        for name, where in sorted(capture.compiled.items())
    ]
    return [*eager, *nodes, *units] or _logged(capture)


def _logged(capture: Capture) -> list[dict[str, Any]]:
    """The placements of TensorFlow's log, where nothing else is known: it names neither lines nor requests. Of two
    streams that say the same, the one that says more."""
    logs = [log for log in capture.logs.values() if log.placed or log.ran]
    fullest = max(logs, key=lambda log: log.placed.total() + log.ran.total(), default=None)
    if fullest is None:
        return []
    return [
        {
            **_place(None),
            "op": op,
            "dtype": None,
            "requested": None,
            "assigned": device,
            "count": count,
            "reason": reason(Node(None, op, "", device, ""), capture) or None,
        }
        for (op, device), count in sorted((fullest.placed + fullest.ran).items())
    ]


def _simulated(capture: Capture) -> dict[str, Any] | None:
    if not capture.simulated:
        return None
    return {
        "gpus": capture.simulated,
        "memory": capture.simulated_memory,
        "limits": capture.limits,
        "memory_is_estimate": True,
        "fallbacks": dict(sorted(fallbacks(capture).items())),
    }


def _failure(capture: Capture) -> dict[str, Any] | None:
    """How the program failed: `frames` are its own, innermost last, and `exact` if they are those of the failure; an
    error that is known has `means`, and the rule or check about it, `code`."""
    found = failure_of(capture)
    if found is None:
        return None
    return {
        "message": found.text,
        "frames": [{**_place(where), "function": function or None} for where, function in found.frames],
        "exact": found.is_exact,
        "means": found.means or None,
        "code": found.code or None,
    }


def _expectation(one: Expectation) -> dict[str, Any]:
    return {
        "id": one.id,
        "code": one.code or None,
        "level": one.level.value,
        "status": one.status.value,
        "subject": one.subject,
        "expected": one.expected,
        "observed": one.observed,
        "origin": _place(one.where) if one.where is not None else None,
        "evidence": list(one.evidence),
        "fix": one.fix or None,
    }


def _place(where: Where | None) -> dict[str, Any]:
    path, row, cell = where or (None, None, None)
    return {"filename": path, "row": row, **({} if cell is None else {"cell": cell})}
