"""Joins the captures of one run's workers. Devices get TensorFlow's cluster names, `/job:worker/task:1/GPU:0`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpulint.probe.capture.contents import Capture, Member
from gpulint.probe.capture.device_names import qualified
from gpulint.probe.capture.records import Card, Function, Steps, Strategy, Where
from gpulint.probe.cluster.worker_text import culprits, has_failed, names

_Key = tuple[str, "Where | None"]


def joined(members: Sequence[Member]) -> Capture:
    """One capture for all workers. Counts are summed. Training steps, which all workers take together, are those of the
    worker that took most, with its times."""
    named = {one.task: qualified(one.capture, one.task.prefix) for one in members if one.capture is not None}
    captures = list(named.values())
    first = captures[0] if captures else Capture()
    blamed = culprits(members)
    error = next((one.capture for one in blamed if one.capture is not None), None)
    whole = Capture(
        start=first.start,
        end=_end(members, blamed),
        process=first.process,
        tensorflow=next((one.tensorflow for one in captures if one.tensorflow), {}),
        error=error.error if error is not None else "",
        error_at=error.error_at if error is not None else None,
        error_frames=error.error_frames if error is not None else (),
        stack=error.stack if error is not None else (),
        position=error.position if error is not None else (),
        simulated=max((one.simulated for one in captures), default=0),
        simulated_memory=first.simulated_memory,
        refused=next((one.refused for one in captures if one.refused), ""),
        keras=next((one.keras for one in captures if one.keras), ""),
        phase=first.phase,
        members=tuple(members),
        modules=tuple(dict.fromkeys(path for one in captures for path in one.modules)),
        strategies=_strategies(captures),
        functions=_functions(captures),
        steps=_steps(captures),
        lost=list(dict.fromkeys(pair for one in captures for pair in one.lost)),
        faults=[f"{task.name}: {fault}" for task, one in named.items() for fault in one.faults],
        torn=sum(one.torn for one in captures),
    )
    for task, one in named.items():
        whole = replace(
            whole,
            limits={**whole.limits, **one.limits},
            physical=(*whole.physical, *one.physical),
            logical=(*whole.logical, *one.logical),
            calls=[*whole.calls, *(call for call in one.calls if call not in whole.calls)],
            variables=[*whole.variables, *one.variables],
            batches=list(dict.fromkeys([*whole.batches, *one.batches])),
            kernels={**whole.kernels, **one.kernels},
            compiled={**one.compiled, **whole.compiled},
            inner_devices=whole.inner_devices | one.inner_devices,
            memory=sorted([*whole.memory, *one.memory], key=lambda sample: sample.t),
            cards=[*whole.cards, *(_of_host(card, task.name) for card in one.cards)],
            sources={**one.sources, **whole.sources},
        )
        for name in ("executions", "nodes", "copies", "eager", "taken", "runs", "reads", "data", "retraces"):
            counts: Counter[Any] = getattr(whole, name)
            counts.update(getattr(one, name))
        for stream, log in one.logs.items():
            whole.logs[f"{task.name} {stream}"] = log
    return whole


def _end(members: Sequence[Member], blamed: Sequence[Member]) -> dict[str, Any]:
    """How the workers ended: well if every worker with a capture did."""
    seconds = max((one.capture.seconds for one in members if one.capture is not None), default=0.0)
    if not any(has_failed(one) for one in members):
        return {"status": 0, "signal": None, "reason": "exit", "seconds": seconds}
    ends = [one.capture.end for one in blamed if one.capture is not None]
    end = ends[0] if ends else {}
    told = {"status": end.get("status"), "signal": end.get("signal"), "reason": end.get("reason")}
    told["oom_kills"] = end.get("oom_kills")
    last = next((one.capture.last_line for one in blamed if one.capture is not None), "")
    return {**told, "seconds": seconds, "last": last, "worker": names(one.task for one in blamed)}


def _strategies(captures: Sequence[Capture]) -> list[Strategy]:
    """Each strategy once, with the devices of all workers."""
    found: dict[_Key, Strategy] = {}
    for capture in captures:
        for one in capture.strategies:
            key = one.cls, one.where
            before = found.get(key)
            devices = before.devices if before is not None else ()
            found[key] = one._replace(id=len(found) + (before is None), devices=(*devices, *one.devices))
    return list(found.values())


def _functions(captures: Sequence[Capture]) -> dict[_Key, Function]:
    """Each function with the traces of the worker that traced it most."""
    found: dict[_Key, Function] = {}
    for capture in captures:
        for key, one in capture.functions.items():
            before = found.get(key)
            found[key] = one if before is None or one.traces > before.traces else before
    return found


def _steps(captures: Sequence[Capture]) -> dict[_Key, Steps]:
    found: dict[_Key, Steps] = {}
    for capture in captures:
        for key, one in capture.steps.items():
            before = found.get(key)
            found[key] = one if before is None or one.taken > before.taken else before
    return found


def _of_host(card: Card, name: str) -> Card:
    """Bus ids repeat across hosts."""
    return card._replace(bus=f"{name} {card.bus}")
