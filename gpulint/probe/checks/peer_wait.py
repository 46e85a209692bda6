"""No worker waits for another one before each step."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, violated
from gpulint.probe.measures.peer_waits import peer_waits
from gpulint.probe.measures.waiting import HIGH, WaitShare, wait_share

_ID = "peer-wait"
_EXPECTED = f"less than {HIGH:.0%} of the time"
_FIX = "look at what only {} does between steps: input, logging, checkpoints"


def check(run: Run) -> Iterator[Expectation]:
    """Each loop over a distributed dataset of one worker, which cannot tell for whom it waits."""
    for where, wait in peer_waits(run.capture).items():
        share = wait_share(wait)
        if share.is_high:
            fix = "join the captures of all workers with `--merge` to know which one"
            yield _waits("waiting for another worker", share, where, fix)


def check_cluster(run: Run) -> Iterator[Expectation]:
    """Each loop of each worker. The last one to come to it waits least: it is the one that the others wait for."""
    waits = {task: peer_waits(capture) for task, capture in run.capture.trainers}
    for where in dict.fromkeys(where for found in waits.values() for where in found):
        shares = {task: wait_share(found[where]) for task, found in waits.items() if where in found}
        last = min(shares, key=lambda task: shares[task].each)
        for task, share in shares.items():
            if task != last and share.is_high and share.each > 2 * shares[last].each:
                yield _waits(f"{task.name} waits for {last.name}", share, where, _FIX.format(last.name))


def _waits(subject: str, share: WaitShare, where: Where | None, fix: str) -> Expectation:
    return violated(_ID, subject, _EXPECTED, share.text, where=where, fix=fix, level=Level.WARN)
