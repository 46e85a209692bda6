"""The ids of all checks, their levels, and what is left out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpulint.probe.advice.advice import CAUSES
from gpulint.probe.expectations.expectation import Expectation, Level, Status
from gpulint.settings import Settings, SettingsError, row_of

IDS = {
    "configuration": "calls that configure devices take effect",
    "copies": "no step copies data between devices of one kind, except on request",
    "devices-alike": "all workers of a cluster have the same number of devices",
    "device-exists": "the devices passed to a strategy exist",
    "eager-hot-loop": "a training step is a few calls from Python, not one per operation",
    "evidence": "the probe observes the program without faults",
    "expect": "an expression that the user wrote holds",
    "expect-copies": "a block stated to copy nothing between devices copies nothing",
    "expect-on": "what the program states to be on a device is there",
    "expect-traces": "a function is traced no more often than stated",
    "forks": "the program starts no process by forking after TensorFlow was initialised",
    "gpu-idle": "every GPU works in training steps",
    "gpu-idle-held": "no memory is held on a card without work",
    "growth-alike": "all workers of a cluster set memory growth the same way",
    "growth-set": "memory growth, if set, covers all GPUs",
    "host-growth": "the program's own memory does not grow over the steps",
    "host-reads": "Python does not read tensors in every training step",
    "input-wait": "training does not wait for its input",
    "mem-balance": "peak memory is balanced across the devices of a strategy",
    "mem-foreign": "other programs hold little of a card",
    "mem-headroom": "a device's memory is used, and not nearly full",
    "mem-leak": "memory does not grow over the steps; in a program without steps, over the run",
    "mem-preallocated": "most of the memory reserved on a card is used",
    "no-cpu-fallback": "heavy work does not run on the host",
    "out-of-memory": "every allocation of memory succeeds",
    "peer-wait": "no worker waits for another before each step",
    "prediction": "the run does not confirm a finding of `gpulint check`",
    "replica-balance": "replicas of all workers have similar work and variables",
    "replica-batch": "each replica gets more than one element of a batch",
    "replica-inputs": "each replica gets its own shard of the batch",
    "retrace": "a function is traced a few times, not on every call",
    "scope-placement": "operations run where `tf.device` asks for them",
    "simulated-memory": "live tensors on a simulated GPU fit its memory",
    "sources-disagree": "the probe and TensorFlow's placement log agree",
    "step-time": "steps are as fast as the hardware allows; not applicable to a simulation",
    "straggler": "no worker keeps the others waiting",
    "strategy-spread": "every device of a strategy has work",
    "variables-mirrored": "every replica has the same variables",
    "versions-alike": "every worker of a cluster has the same Python, TensorFlow and Keras",
    "worker-balance": "all workers take the same number of steps, with batches of one size",
    "worker-joined": "every worker of the cluster takes part in training",
    "xla-opaque": "no device scope in a function that XLA compiles requests another device",
}
"""Check ids, as in reports and `[tool.gpulint.probe.level]`."""

IGNORABLE = tuple(sorted({*IDS, *CAUSES}))
"""Names that `[tool.gpulint.probe] ignore` accepts: checks, and causes of advice."""


def validate(settings: Settings) -> None:
    """Raises SettingsError for an unknown check or cause."""
    named = [("level", "check", id, tuple(IDS)) for id, _ in settings.probe.level]
    named += [("ignore", "check or cause", id, IGNORABLE) for id in settings.probe.ignore]
    for key, kind, id, known in named:
        if id not in known:
            near = difflib.get_close_matches(id, known, 1, 0.5)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
            row = row_of(settings.source, id)
            by_option = "--ignore" if key == "ignore" else f"--config: probe.{key}"
            origin = f"{settings.source}:{row}: probe.{key}" if row else by_option
            raise SettingsError(f"{origin}: there is no {kind} `{id}`; {hint}")


def with_levels(expectations: Iterable[Expectation], settings: Settings) -> Iterator[Expectation]:
    """Expectations with the levels from the settings, without those that are off or ignored."""
    levels = {**dict(settings.probe.level), **dict.fromkeys(settings.probe.ignore, "off")}
    for one in expectations:
        level = levels.get(one.id)
        if level == "off":
            continue
        if level is None:
            yield one
            continue
        status = one.status
        if status in (Status.FAIL, Status.WARN):
            status = Status.FAIL if level == "error" else Status.WARN
        yield replace(one, level=Level(level), status=status)
