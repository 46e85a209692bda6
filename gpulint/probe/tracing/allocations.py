"""Holders of a device's memory at the peak of a window, from the allocations and deallocations of its allocator."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gpulint.probe.tracing.summary import place_of
from gpulint.probe.tracing.xspace import Allocation

TOP = 40
"""Lines kept of each device."""

_NAME = 120
"""Characters kept of the end of an operation's name."""

_DEVICE = re.compile(r"GPU_(\d+)_bfc$")
_CPU = "bfc_cpu_allocator_for_gpu"
"""Allocator of the CPU where `TF_CPU_ALLOCATOR_USE_BFC` is set."""

_GRADIENTS = re.compile(r"(?:^|/)(?:gradient_tape|gradients)/")
_INPUT = re.compile(r"IteratorGetNext|IteratorV2|MultiDeviceIterator")
_OPTIMIZER = re.compile(
    r"(?:^|/)(?:adam|adamw|adamax|nadam|adagrad|adadelta|adafactor|rmsprop|sgd|ftrl|lion|lamb|muon|"
    r"loss_scale_optimizer)(?:_\d+)?/",
    re.IGNORECASE,
)
"""Operations of Keras's optimizers, whose names begin with that of the optimizer."""


class Peak(NamedTuple):
    """The peak of a device's allocator: bytes in use, of these allocated before the window, and the rest by the
    operation that asked for them and its group (`measures.holders.GROUPS`)."""

    device: str
    in_use: int
    before: int
    held: dict[tuple[str, str], int]


def peaks(allocations: Iterable[Allocation]) -> list[Peak]:
    """The peak of each device. `allocations` are in order."""
    by_device: defaultdict[str, list[Allocation]] = defaultdict(list)
    for one in allocations:
        if device := _device(one.allocator):
            by_device[device].append(one)
    return [_peak(device, found) for device, found in sorted(by_device.items())]


def _peak(device: str, found: Sequence[Allocation]) -> Peak:
    last = max(range(len(found)), key=lambda index: found[index].in_use)
    living: dict[int, Allocation] = {}
    for one in found[: last + 1]:
        if one.is_free:
            living.pop(one.address, None)
        else:
            living[one.address] = one
    held: defaultdict[tuple[str, str], int] = defaultdict(int)
    for one in living.values():
        held[one.op, _group(one)] += one.size
    in_use = found[last].in_use
    return Peak(device, in_use, max(in_use - sum(held.values()), 0), dict(held))


def _device(allocator: str) -> str:
    """`GPU:0` in the order of TensorFlow's devices, "" for memory that no device computes with."""
    if found := _DEVICE.match(allocator):
        return f"GPU:{found[1]}"
    return "CPU:0" if allocator == _CPU else ""


def _group(one: Allocation) -> str:
    if one.is_temporary or _OPTIMIZER.search(one.op):
        return "workspace"
    if _GRADIENTS.search(one.op):
        return "gradients"
    if _INPUT.search(one.op):
        return "input"
    return "activations" if one.op else "other"


def rows(found: Iterable[Peak], places: Mapping[str, tuple[int, int]]) -> list[list[Any]]:
    """Rows of [device, bytes in use, of these before the window, rows of [file, row, group, operation, bytes]]. The
    rows of a device are those of the lines with most; the others are added up by group."""
    return [[one.device, one.in_use, one.before, _lines(one, places)] for one in found]


def _lines(peak: Peak, places: Mapping[str, tuple[int, int]]) -> list[list[Any]]:
    by_line: defaultdict[tuple[tuple[int, int] | None, str], dict[str, int]] = defaultdict(dict)
    for (op, group), size in peak.held.items():
        by_line[place_of(op, places), group][op] = size
    ordered = sorted(by_line.items(), key=lambda one: -sum(one[1].values()))
    lines = [
        [*(place or (None, 0)), group, max(ops, key=ops.__getitem__)[-_NAME:], sum(ops.values())]
        for (place, group), ops in ordered[:TOP]
    ]
    rest: defaultdict[str, int] = defaultdict(int)
    for (_, group), ops in ordered[TOP:]:
        rest[group] += sum(ops.values())
    return [*lines, *([None, 0, group, "", size] for group, size in rest.items())]
