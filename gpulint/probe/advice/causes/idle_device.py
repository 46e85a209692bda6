"""One GPU of several has no work."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.matching import finding_of, place_of, sentence
from gpulint.probe.agent.graphs import STEP
from gpulint.probe.capture.contents import Capture
from gpulint.probe.expectations.metrics import is_on
from gpulint.probe.measures.device_words import listed
from gpulint.probe.measures.number_words import counted
from gpulint.probe.measures.work import CALLS, fix_of_idle, work

RULES = ("GPU203", "GPU201", "GPU206", "GPU101")
"""Rules about work that stays on one of several GPUs."""


def candidates(observed: Observed) -> Iterator[Candidate]:
    """The GPUs without work in training steps, if others have some. All working, the computing is shared."""
    capture, time = observed.capture, observed.time
    done = work(capture)
    gpus = [device for device in capture.own_devices if is_on(device, "GPU")]
    idle = [device for device in gpus if not done.by_device[device]]
    if not done.steps or done.unseen or not idle or len(idle) == len(gpus):
        return
    is_known = any(one.busy_share is not None for one in time.devices)
    computing = ("gpu",) if is_known else ("gpu", "launch")
    finding = finding_of(observed, RULES)
    steps = max(capture.steps.values(), key=lambda one: one.taken)
    made = next((one.where for one in capture.strategies), None)
    share = len(idle) / len(gpus)
    counts = {device: done.by_device[device] for device in gpus if done.by_device[device]}
    busy = ", ".join(f"{counted(count, 'operation')} on {device}" for device, count in counts.items())
    yield Candidate(
        "idle-device",
        place_of(finding) if finding is not None else made or steps.where,
        f"{listed(idle)} {'has' if len(idle) == 1 else 'have'} no work",
        f"A training step runs {busy}{_compiled(capture)}.",
        sentence(finding.instead if finding is not None else fix_of_idle(capture, idle)),
        {part: time.seconds_of(part) * share for part in computing},
        finding.code if finding is not None else None,
        in_proportion=True,
    )


def _compiled(capture: Capture) -> str:
    """What XLA compiles of the step: that counts as one operation."""
    is_called = any(one.part == STEP and one.op in CALLS for one in capture.nodes)
    name = min(capture.compiled, default="")
    return f" (XLA compiles `{name}` to one)" if is_called and name else ""
