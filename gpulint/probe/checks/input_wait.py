"""Training does not wait for its input."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status, held, undecided, violated
from gpulint.probe.measures.peer_waits import own_waits
from gpulint.probe.measures.waiting import HIGH, NEEDED, wait_share

_ID = "input-wait"
_SUBJECT = "waiting for input"
_EXPECTED = f"less than {HIGH:.0%} of the time"


def check(run: Run) -> Iterator[Expectation]:
    """Each loop over a dataset with training steps, by the share of time spent in `next()`."""
    capture = run.capture
    steps = sum(one.taken for one in capture.steps.values())
    judged = {where: wait_share(wait) for where, wait in own_waits(capture).items() if wait.steps}
    for where, one in judged.items():
        if not one.enough:
            continue
        if one.is_high:
            yield violated(
                _ID,
                _SUBJECT,
                _EXPECTED,
                one.text,
                where=where,
                fix="do less for each element, in parallel (`num_parallel_calls`), or keep the elements (`cache`)",
                level=Level.WARN,
            )
        elif one.is_noise:
            yield undecided(_ID, Status.INCONCLUSIVE, _SUBJECT, _EXPECTED, one.text)
        else:
            yield held(_ID, _SUBJECT, _EXPECTED, one.text, where=where)
    if steps and not any(one.enough for one in judged.values()):
        reason = f"no loop over a dataset had {NEEDED} elements and steps"
        yield undecided(_ID, Status.INCONCLUSIVE, _SUBJECT, _EXPECTED, reason)
