"""The headline of a run: how busy its devices were, and what took most of the rest of the time."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.probe.advice.advice import Advice
from gpulint.probe.advice.pipeline_ends import waited
from gpulint.probe.advice.ranking import REHEARSED
from gpulint.probe.capture.contents import Capture
from gpulint.probe.expectations.metrics import is_on
from gpulint.probe.measures.device_words import listed
from gpulint.probe.measures.failures import signal_name
from gpulint.probe.measures.number_words import counted
from gpulint.probe.measures.out_of_memory import refused, retried
from gpulint.probe.measures.reasons import has_gpu
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_spent import DeviceTime, TimeSpent
from gpulint.probe.measures.time_words import duration, percent
from gpulint.probe.measures.work import work

BUSY = 0.9
"""Share of the time in steps from which on the headline names no obstacle."""

MUCH = 0.2
"""Share of the time from which a run on the CPU waits for something: TensorFlow's profiler calls it a bottleneck."""

_CAUSES = {
    "input-bound": "training waits for its input",
    "launch-bound": "training waits for operations to be launched",
    "eager-step": "Python runs its steps one operation at a time",
    "retracing": "training waits for functions that are traced again",
    "recompiling": "training waits for XLA to compile",
    "host-reads": "training waits for Python to read tensors",
    "slow-python": "training waits for Python between its steps",
    "repeated-calls": "a model is called for one sample or batch at a time",
    "new-models": "training waits for models that a loop creates",
    "checkpoints": "training waits for files to be written",
    "copies": "steps copy between devices",
    "straggler": "workers wait for the slowest one",
    "idle-device": "not every GPU has work",
    "out-of-memory": "it ran out of memory",
    "precision": "it computes in a higher precision than it needs",
}
"""Cause of the first advice → the obstacle, in words."""

_PARTS = {
    "collective": "the all-reduce",
    "copy": "copying",
    "input": "the wait for input",
    "trace": "tracing and compiling",
    "launch": "launching operations",
    "python": "Python between steps",
    "checkpoint": "writing files",
    "other": "work of unknown kind",
    "unrecorded": "work that was not recorded",
}

_AGAIN = frozenset({"retracing", "recompiling", "new-models"})
"""Causes that trace or compile what a run needs only once."""

_ONCE = "the first tracing and compiling of each function"

_END = "the wait for the end of pipelines"
"""Most of the wait for input, if pipelines end late: the elements were there."""

_LATE = "a wait for the end of a pipeline, which another run may not have"


def headline(capture: Capture, time: TimeSpent | None, advice: Sequence[Advice]) -> str:
    """The headline: "GPU:0 computed 0.8 % of the time. Training waits for its input."."""
    if (without := _without_steps(capture, time, advice)) is not None:
        return without
    assert time is not None
    first, second = _devices(capture, time), _obstacle(capture, time, advice)
    return f"{first}: {second}." if first.startswith(_REHEARSED) else f"{first}. {_capital(second)}."


_REHEARSED = "Rehearsed"
"""How the headline of a rehearsal begins."""


def _without_steps(capture: Capture, time: TimeSpent | None, advice: Sequence[Advice]) -> str | None:
    """Headline of a run without steps to report on: there were none, or the program failed. None for other runs."""
    failed = refused(capture)
    if failed is not None:
        size = f" for {in_words(failed.size)}" if failed.size else ""
        at = capture.error_at
        line = f" at {at.in_short}" if at is not None else ""
        return f"{failed.device or 'A device'} has no memory left{size}{line}."
    who = _capital(str(capture.end.get("worker") or "the program"))
    if capture.end.get("reason") in ("timeout", "hang") and retried(capture):
        return f"A device has no memory left: TensorFlow retried, and was stopped ({capture.end['reason']})."
    if capture.end.get("reason") in ("timeout", "hang"):
        return f"{who} was stopped ({capture.end['reason']})."
    if capture.end.get("signal"):
        return f"{who} was killed by signal {signal_name(capture.end['signal'])}."
    if capture.error:
        kind = capture.error.partition(":")[0]
        return f"{who} failed with {kind}." if kind.isidentifier() else f"{who} failed."
    if capture.end.get("status"):
        return f"{who} failed with status {capture.end['status']}."
    if capture.process and not capture.tensorflow:
        return "The program did not import TensorFlow."
    if time is None and retried(capture):
        return "A device has no memory left: allocations fail and are retried."
    if time is not None:
        return None
    if advice and advice[0].outside is not None and advice[0].is_timed:
        outside = advice[0].outside
        return f"No training was seen; {outside.what} took {duration(outside.seconds)}."
    workers = len(capture.members)
    return f"{counted(workers, 'worker')}; no training step was seen." if workers else "No training was seen."


def _devices(capture: Capture, time: TimeSpent) -> str:
    """The devices: how busy they were, or which they were if that is unknown."""
    if capture.simulated:
        return f"{_REHEARSED} on {counted(capture.simulated, 'simulated GPU')}"
    known = [one for one in time.devices if one.busy_share is not None]
    if known:
        return _busy(known)
    if has_gpu(capture):
        return "How busy the GPUs were is not known"
    return "Trained on the CPU"


def _busy(devices: Sequence[DeviceTime]) -> str:
    shares = [one.busy_share or 0.0 for one in devices]
    idle = [one.device for one in devices if not one.busy_share]
    low, high = percent(min(shares)), percent(max(shares))
    if len(devices) == 1:
        return f"{devices[0].device} computed {high} of the time"
    if idle and len(idle) < len(devices):
        busy = counted(len(devices) - len(idle), "GPU")
        return f"{busy} computed up to {high} of the time, {listed(idle)} nothing"
    if low == high:
        return f"{len(devices)} GPUs computed {high} of the time"
    return f"{len(devices)} GPUs computed {low.removesuffix(' %')} to {high} of the time"


def _obstacle(capture: Capture, time: TimeSpent, advice: Sequence[Advice]) -> str:
    """The obstacle: the work outside training, if the first advice is about that; else the cause of that advice,
    unless it accounts for little of the time, or for much less than the largest part of the rest."""
    if advice and advice[0].is_outside and advice[0].is_timed and (outside := advice[0].outside) is not None:
        return f"{outside.what} took {duration(outside.seconds)}, training {duration(time.seconds)}"
    early = time.first.seconds_of("trace") if time.first is not None and not capture.simulated else 0.0
    if early > time.seconds and (not advice or 2 * early > capture.seconds):
        return f"{_PARTS['trace']} took {duration(early)} until the first step ended, training {duration(time.seconds)}"
    is_known = any(one.busy_share is not None for one in time.devices)
    useful = ("gpu",) if is_known else ("gpu", "collective", "launch")
    ending, by_chance = waited(capture, time)
    rest = {part.name: part.seconds for part in time.shown if part.name not in useful}
    if rest.get("input") and by_chance < MUCH * time.seconds:
        rest["input"] -= by_chance
        ending, by_chance = ending - by_chance, 0.0
    most = max(rest, key=lambda name: rest[name], default="")
    is_little = sum(rest.values()) <= (1 - BUSY) * time.seconds
    needed = 0.0
    if not is_little:
        needed = max(rest[most] / 2, 0.0 if is_known else MUCH * time.seconds)
    if advice and (not advice[0].seconds or advice[0].seconds >= needed or advice[0].cause in REHEARSED):
        return _CAUSES[advice[0].cause]
    if capture.simulated and not advice and _has_work(capture):
        return "it has work" if capture.simulated == 1 else "each has work"
    if is_little:
        return "nothing stands in its way"
    name = _PARTS[most]
    if most == "input" and 2 * ending > rest[most]:
        name = _LATE if 2 * by_chance > ending else _END
    elif most == "trace":
        again = sum(one.seconds for one in advice if one.cause in _AGAIN)
        name = (name if 2 * again >= rest[most] else f"{name}, mostly for the first time") if again else _ONCE
    share = percent(rest[most] / time.seconds)
    return f"most of the rest is {name} ({share})" if is_known else f"{share} of the time is {name}"


def _has_work(capture: Capture) -> bool:
    """Whether each simulated GPU works in training steps."""
    done = work(capture)
    gpus = [device for device in capture.own_devices if is_on(device, "GPU")]
    return bool(done.steps and gpus) and all(done.by_device[device] for device in gpus)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
