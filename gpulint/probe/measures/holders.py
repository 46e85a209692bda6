"""Holders of a device's memory at its peak."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.leaks import is_kept

GROUPS = ("weights", "gradients", "slots", "activations", "input", "workspace", "python", "other")
"""Kinds of holders; part of the JSON report's contract. "slots" are the optimizer's, "python" tensors that only Python
refers to, "other" what the allocator had in use beyond all that is known."""

GROUP_NAMES = {
    "weights": "weights",
    "gradients": "gradients",
    "slots": "optimizer slots",
    "activations": "activations",
    "input": "input buffers",
    "workspace": "workspace",
    "python": "tensors kept by Python",
    "other": "other",
}


CPU, HOST = "CPU:0", "host"


class Holder(NamedTuple):
    """Bytes on a device at its peak, by group and the line that created them."""

    device: str
    group: str
    where: Where | None
    bytes: int


class Held(NamedTuple):
    """The memory of one device, or of the host as a whole ("host"). `peak` is the sum of the `holders`, which are in
    descending order; `allocator` is the peak of the training steps by TensorFlow's allocator, of the host that of the
    process; `first` is the peak until the end of the warm-up, when convolutions are tuned, and `process` what the whole
    process holds there, None if unknown."""

    device: str
    peak: int
    allocator: int | None
    first: int | None
    process: int | None
    holders: tuple[Holder, ...]


def held(capture: Capture) -> tuple[Held, ...]:
    """The memory of each device that anything is known of, GPUs first."""
    devices = sorted(capture.own_devices, key=lambda device: (not device.startswith("GPU"), device))
    gpus = [device for device in capture.own_devices if device.startswith("GPU")]
    return tuple(one for device in devices if (one := _held(capture, device, gpus)) is not None)


def _held(capture: Capture, device: str, gpus: Sequence[str]) -> Held | None:
    window = next((one for one in capture.window_peaks if one.device == device), None)
    allocator, first = _peak(capture, device, steps=True), _peak(capture, device, steps=False)
    if allocator is None:
        allocator, first = first, None
    if allocator is not None and window is not None:
        allocator = max(allocator, window.in_use)
    process = _process(capture, device, gpus)
    name = device
    if device == CPU and window is None and process is not None:
        # The usual allocator of the CPU counts neither small tensors nor what is not TensorFlow's.
        name, allocator, first = HOST, process, None
    takes_arrays = (device != CPU or window is None) and device == (gpus[0] if gpus else device)
    fixed, loose = _held_by_python(capture, device, takes_arrays)
    traced = [Holder(device, row.group, row.where, row.bytes) for row in window.rows] if window is not None else []
    eager = [one for one in traced if _is_eager(one)]
    room = window.before if window is not None else allocator
    if room is not None:
        room -= _total(fixed)
        loose = _within(loose, room + _total(eager))
        # What Python holds and was allocated in the window is among the eager operations of the trace.
        eager = _within(eager, _total(eager) - max(_total(loose) - room, 0))
    holders = _merged([*fixed, *loose, *eager, *(one for one in traced if not _is_eager(one))])
    if allocator is not None:
        holders = _merged([*holders, *_outliving(capture, device, holders, allocator - _total(holders))])
        holders = _merged([*holders, Holder(device, "other", None, max(allocator - _total(holders), 0))])
    if not holders:
        return None
    holders = [one._replace(device=name) for one in holders]
    return Held(name, _total(holders), allocator, first, process, tuple(holders))


def _is_eager(traced: Holder) -> bool:
    """Whether it may be an eager operation's: those have no line in the trace."""
    return traced.where is None and traced.group == "activations"


def _total(holders: Iterable[Holder]) -> int:
    return sum(one.bytes for one in holders)


def _held_by_python(capture: Capture, device: str, takes_arrays: bool) -> tuple[list[Holder], list[Holder]]:
    """Variables, and large tensors and arrays. Arrays are counted on the first GPU, where TensorFlow puts those that
    `fit` is given as they are, or on the host; TensorFlow's allocator for the CPU has none of them."""
    fixed: list[Holder] = []
    loose: list[Holder] = []
    for one in capture.holdings:
        if one.device == device or (not one.device and takes_arrays):
            holders = fixed if one.group in ("weights", "slots") else loose
            holders.append(Holder(device, one.group, one.where, one.bytes))
    return fixed, loose


def _outliving(capture: Capture, device: str, holders: Sequence[Holder], room: int) -> list[Holder]:
    """Tensors that steps leave behind, beyond those that are known to be held: only those of a few steps are."""
    steps = sum(one.taken for one in capture.steps.values())
    found = []
    for one in capture.kept:
        if one.device == device and is_kept(one):
            known = sum(each.bytes for each in holders if (each.group, each.where) == ("python", one.where))
            found.append(Holder(device, "python", one.where, max(one.bytes * steps // one.made - known, 0)))
    return _within(found, room)


def _within(holders: list[Holder], room: int) -> list[Holder]:
    """The largest of these that fit into `room`: they were most at another moment than the allocator."""
    kept = []
    for one in sorted(holders, key=lambda one: -one.bytes):
        size = min(one.bytes, max(room, 0))
        room -= size
        if size:
            kept.append(one._replace(bytes=size))
    return kept


def _merged(holders: Iterable[Holder]) -> list[Holder]:
    """One holder for each group and line, the largest first."""
    sizes: Counter[Holder] = Counter()
    for one in holders:
        sizes[one._replace(bytes=0)] += one.bytes
    return [one._replace(bytes=size) for one, size in sizes.most_common() if size]


def _peak(capture: Capture, device: str, steps: bool) -> int | None:
    """Peak of the training steps, or of everything before; None if the allocator was not asked."""
    peaks = [
        sample.devices[device][1]
        for sample in capture.memory
        if device in sample.devices and (sample.phase == "steps") == steps
    ]
    return max(peaks, default=None)


def _process(capture: Capture, device: str, gpus: Sequence[str]) -> int | None:
    """Bytes that the process holds on a GPU as the driver reports it, if there is one card; on the host, its memory."""
    if not device.startswith("GPU"):
        return max((size for _, size in capture.resident), default=None)
    if capture.simulated or len(gpus) > 1 or len({one.bus for one in capture.cards}) > 1:
        return None
    return max((one.by_program for one in capture.cards), default=0) or None
