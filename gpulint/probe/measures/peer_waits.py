"""The part of a loop's waits for its next element that is spent waiting for other workers."""

from __future__ import annotations

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import SEVERAL_WORKERS, Wait, Where
from gpulint.probe.measures.waiting import waits


def own_waits(capture: Capture) -> dict[Where | None, Wait]:
    """The waits of a process, without those for other workers."""
    peers = peer_waits(capture)
    return {
        where: wait._replace(waited=wait.waited - peers[where].waited) if where in peers else wait
        for where, wait in waits(capture).items()
    }


def peer_waits(capture: Capture) -> dict[Where | None, Wait]:
    """The waits of a worker for others: an element is handed out when all workers have one."""
    if not any(one.cls in SEVERAL_WORKERS and one.replicas > one.own_replicas for one in capture.strategies):
        return {}
    return {
        where: wait._replace(waited=max(0.0, wait.waited - wait.elements * seconds / elements))
        for where, wait in waits(capture).items()
        if (local := capture.local_input.get(where)) is not None
        for elements, seconds in (local,)
        if elements
    }
