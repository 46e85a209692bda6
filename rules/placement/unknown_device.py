"""GPU107."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events
from gpulint.plugin.symbols import mentions
from gpulint.plugin.words import DEVICE_NAMES, DEVICE_WORDS, STRATEGY_WORDS


class UnknownDevice(Rule):
    """GPU that the program cannot have

    ## What it does
    Finds a GPU index beyond the number of logical GPUs that the program's own configuration leaves: visible devices,
    CUDA_VISIBLE_DEVICES and logical devices set to known values. Also finds a number that selects a visible GPU from
    the list of physical ones, and is then part of a device name: `set_visible_devices(gpus[n])` and `f"/gpu:{n}"`.

    ## Why is this bad
    `tf.device` silently moves the work to the CPU (or fails, with soft placement off). A strategy on such a device
    hangs or raises (TensorFlow 2.21).

    ## Example
    ```python
    import os

    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    import tensorflow as tf

    with tf.device("/gpu:1"):
        x = tf.zeros(4)
    ```

    ## Use instead
    ```python
    import os

    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    import tensorflow as tf

    x = tf.zeros(4)
    ```

    ## What is not reported
    Configuration from outside the program, a `try` that catches the RuntimeError and continues, and code that runs only
    if a list of devices that CUDA_VISIBLE_DEVICES shortens has enough.

    ## At run time
    RuntimeError, or soft placement on the CPU.
    """

    code = "GPU107"
    name = "unknown-device"
    severity = Severity.ERROR
    why = "the work silently runs on the CPU"
    instead = "visible GPUs are numbered from 0: use `/gpu:0`"
    any_of_names = DEVICE_WORDS | STRATEGY_WORDS
    source_pattern = DEVICE_NAMES

    def __init__(self) -> None:
        self._configured: Site | None = None
        """Where the program last chose its GPUs."""
        self._are_logical = False
        """Whether it divided them there."""

    def on_environment_set(self, event: events.EnvironmentSet, plan: Plan) -> None:
        if event.key == "CUDA_VISIBLE_DEVICES":
            self._configured = event.site

    def on_runtime_configured(self, event: events.RuntimeConfigured, plan: Plan) -> None:
        if event.what in ("visible_devices", "logical_devices"):
            self._configured, self._are_logical = event.site, event.what == "logical_devices"

    def on_device_named(self, event: events.DeviceNamed, plan: Plan) -> Iterator[Report]:
        device = event.device
        if device is None or device.index is None or event.gpus is None or device.job:
            return
        if device.index >= event.gpus and not event.where.context.catches(_CAUGHT) and not self._is_excluded(event):
            kind = "logical GPU" if self._are_logical else "GPU"
            left = {0: f"no {kind} is", 1: f"only one {kind} is"}.get(event.gpus, f"only {event.gpus} {kind}s are")
            chosen = "the logical GPUs are configured here" if self._are_logical else "the GPUs are chosen here"
            yield Report(
                event.site,
                f"`{event.text}` does not exist: {left} visible",
                why="" if event.consumer == "tensorflow.device" else "the strategy hangs or raises an error",
                instead=_available(event.gpus),
                related=((self._configured, chosen),) if self._configured is not None else (),
                confidence=confidence(event.where),
                supersedes=(event.call,),
            )

    def on_physical_number_named(self, event: events.PhysicalNumberNamed, plan: Plan) -> Iterator[Report]:
        if not event.where.context.catches(_CAUGHT):
            yield Report(
                event.site,
                f"`{event.text}` counts the visible GPUs, but its number is that of a physical GPU",
                why="visible GPUs are renumbered from 0: a device with any other number may not exist",
                instead="name `/gpu:0` (and so on), or leave the name out: hidden GPUs are not used anyway",
                confidence=confidence(event.where),
                related=((event.chosen, "the GPUs with these numbers are made visible here"),),
            )

    def _is_excluded(self, event: events.DeviceNamed) -> bool:
        """Whether the program asks how many devices there are. Lists of devices leave out those that
        CUDA_VISIBLE_DEVICES hides, but not those that `set_visible_devices` does."""
        return mentions(event.where.path, "devices") and not self.all(events.RuntimeConfigured)


def _available(gpus: int) -> str:
    """Help that names the GPUs that there are."""
    if not gpus:
        return "make a GPU visible, or place the work on `/cpu:0`"
    names = {1: "`/gpu:0`", 2: "`/gpu:0` or `/gpu:1`"}.get(gpus, f"`/gpu:0` to `/gpu:{gpus - 1}`")
    return f"use {names}: visible GPUs are numbered from 0"


_CAUGHT = frozenset({"RuntimeError", "Exception", "BaseException"})
"""Errors whose handlers catch the one that TensorFlow raises for a missing device."""
