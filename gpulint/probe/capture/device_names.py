"""Device names in the captures of a cluster.

A worker's first GPU is `GPU:0` in its own process. Once the process joins a cluster TensorFlow also calls it
`/job:worker/task:1/…/GPU:0`, and names the devices of other workers in the same way.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from gpulint.probe.capture.contents import Capture, Log
from gpulint.probe.capture.records import Sample, Stated

_PREFIX = re.compile(r"/job:\w+/task:\d+/")

_Key = TypeVar("_Key")
_Told = TypeVar("_Told")


def localised(capture: Capture) -> Capture:
    """The capture with short names for the worker's own devices, which come first."""
    prefix = _own_prefix(capture)
    if not prefix:
        return capture
    found = renamed(capture, lambda device: device.removeprefix(prefix))
    others = (device for device in found.logical if device not in found.own_devices)
    memory = [one._replace(devices=_own_only(one.devices)) for one in found.memory]
    return replace(found, logical=(*found.own_devices, *others), memory=memory, limits=_own_only(found.limits))


def _own_only(by_device: dict[str, _Told]) -> dict[str, _Told]:
    """Without other workers' devices, which every process reports for simulated GPUs."""
    return {device: values for device, values in by_device.items() if not _PREFIX.match(device)}


def qualified(capture: Capture, prefix: str) -> Capture:
    """The capture with device names that include the worker; other workers' devices are dropped."""

    def whose(device: str) -> str:
        return device if not device or device.startswith("/job:") else f"{prefix}{device}"

    return renamed(replace(capture, logical=capture.own_devices), whose)


def _own_prefix(capture: Capture) -> str:
    """The prefix of the worker's own device names, "" if they are short already.

    The launcher says which worker it is. Without a launcher, its own devices are those with memory samples, as the
    runtime samples no others, or else those that ran most operations.
    """
    if not any(_PREFIX.match(device) for device in capture.logical):
        return ""
    if capture.worker is not None:
        prefix = capture.worker.task.prefix
        if any(device.startswith(prefix) for device in capture.logical):
            return prefix
    seen = Counter(device for sample in capture.memory for device in sample.devices) or capture.operations
    found: Counter[str] = Counter()
    for device, count in seen.items():
        if (match := _PREFIX.match(device)) is not None:
            found[match[0]] += count
    return max(found, key=lambda one: found[one], default="")


def renamed(capture: Capture, rename: Callable[[str], str]) -> Capture:
    """The capture with renamed devices."""

    def pairs(counts: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
        return _moved(counts, lambda pair: (pair[0], rename(pair[1])))

    def stated(one: Stated) -> Stated:
        copies = _moved(one.copies, lambda copy: copy._replace(source=rename(copy.source), target=rename(copy.target)))
        return one._replace(objects=pairs(one.objects), ops=pairs(one.ops), copies=copies)

    def log(one: Log) -> Log:
        return replace(one, placed=pairs(one.placed), ran=pairs(one.ran))

    def sample(one: Sample) -> Sample:
        return one._replace(devices={rename(device): sizes for device, sizes in one.devices.items()})

    return replace(
        capture,
        limits={rename(device): limit for device, limit in capture.limits.items()},
        physical=tuple(map(rename, capture.physical)),
        logical=tuple(map(rename, capture.logical)),
        strategies=[one._replace(devices=tuple(map(rename, one.devices))) for one in capture.strategies],
        executions=_moved(
            capture.executions,
            lambda one: one._replace(requested=rename(one.requested), device=rename(one.device)),
        ),
        nodes=_moved(
            capture.nodes, lambda one: one._replace(requested=rename(one.requested), assigned=rename(one.assigned))
        ),
        copies=_moved(
            capture.copies,
            lambda one: one._replace(
                source=rename(one.source), target=rename(one.target), requested=rename(one.requested)
            ),
        ),
        variables=[one._replace(device=rename(one.device)) for one in capture.variables],
        functions={key: one._replace(device=rename(one.device)) for key, one in capture.functions.items()},
        stated={key: stated(one) for key, one in capture.stated.items()},
        inner_devices={one._replace(device=rename(one.device)) for one in capture.inner_devices},
        reads=_moved(capture.reads, lambda one: one._replace(device=rename(one.device))),
        memory=[sample(one) for one in capture.memory],
        logs=defaultdict(Log, {name: log(one) for name, one in capture.logs.items()}),
    )


def _moved(counts: Counter[_Key], move: Callable[[_Key], _Key]) -> Counter[_Key]:
    moved: Counter[_Key] = Counter()
    for key, count in counts.items():
        moved[move(key)] += count
    return moved
