"""The ids of all checks, and their levels."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpulint.probe.expectations.expectation import Expectation, Level, Status
from gpulint.settings import Settings, SettingsError, row_of

IDS = {
    "configuration": "calls that configure devices take effect",
    "copies": "no step moves data between devices of one kind without having asked for it",
    "devices-alike": "every worker of a cluster has as many devices as the others",
    "device-exists": "the devices that a strategy is given are there",
    "eager-hot-loop": "a training step is a few calls from Python, not an operation at a time",
    "evidence": "the probe sees the program, and nothing goes wrong in it",
    "expect": "an expression that the user wrote holds",
    "expect-copies": "a block that the program says copies nothing between devices does not",
    "expect-on": "what the program says is on a device is there",
    "expect-traces": "a function is traced as seldom as the program says",
    "forks": "the program starts no process by forking after TensorFlow was initialised",
    "gpu-idle": "every GPU works in training steps",
    "gpu-idle-held": "no memory is held on a card on which nothing runs",
    "growth-alike": "every worker of a cluster sets memory growth as the others do",
    "growth-set": "memory growth, where the program sets it, holds for all GPUs",
    "host-growth": "the program's own memory does not grow over the steps",
    "host-reads": "Python does not read tensors in every training step",
    "input-wait": "training does not wait for its input",
    "mem-balance": "the devices of a strategy have alike peaks of memory",
    "mem-foreign": "no other program holds much of a card",
    "mem-headroom": "a device's memory is used, and not nearly full",
    "mem-leak": "memory does not grow over the steps",
    "mem-preallocated": "what is taken of a card is used",
    "no-cpu-fallback": "work for which the GPU is there does not run on the host",
    "out-of-memory": "every allocation of memory succeeds",
    "peer-wait": "no worker waits for another before each step",
    "prediction": "what `gpulint check` says of the program does not happen",
    "replica-balance": "the replicas of all workers of a cluster have alike work and variables",
    "replica-batch": "a replica's part of a batch is more than one element",
    "replica-inputs": "each replica is given its own part of the batch",
    "retrace": "a function is traced a few times, not for each call",
    "scope-placement": "operations run where `tf.device` asks for them",
    "simulated-memory": "what lives on a simulated GPU is no more than its memory",
    "sources-disagree": "the probe and TensorFlow's placement log say the same",
    "step-time": "steps are as fast as the hardware: a simulation cannot say, and skips it",
    "straggler": "no worker of a cluster makes the others wait for it",
    "strategy-spread": "every device of a strategy has work",
    "variables-mirrored": "every replica has the same variables",
    "versions-alike": "every worker of a cluster has the same Python, TensorFlow and Keras",
    "worker-balance": "the workers of a cluster take the same steps, with batches of one size",
    "worker-joined": "every worker that the cluster names takes part in training",
    "xla-opaque": "nothing inside of what XLA compiles asks for another device",
}
"""Check ids, as in reports and `[tool.gpulint.probe.level]`."""


def validate(settings: Settings) -> None:
    """Raises SettingsError for the level of an unknown check."""
    for id, _ in settings.probe_level:
        if id not in IDS:
            near = difflib.get_close_matches(id, IDS, 1, 0.5)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(IDS)}"
            row = row_of(settings.source, id)
            origin = f"{settings.source}:{row}" if row else settings.source or "settings"
            raise SettingsError(f"{origin}: probe.level: there is no check `{id}`; {hint}")


def with_levels(expectations: Iterable[Expectation], settings: Settings) -> Iterator[Expectation]:
    """Expectations with the levels from the settings, without those that are off."""
    levels = dict(settings.probe_level)
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
