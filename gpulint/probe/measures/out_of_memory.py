"""Devices that ran out of memory, from the error that ended the program and from TensorFlow's log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpulint.probe.agent.models import ARRAYS
from gpulint.probe.capture.contents import Capture
from gpulint.probe.measures.holders import Held, Holder
from gpulint.probe.measures.memory_limits import places
from gpulint.probe.placement_log.counts import short_device

_TENSOR = re.compile(
    r"OOM when allocating tensor (?:with shape|of shape )\[(?P<shape>[\d,]*)\](?: and type (?P<type>\w+))?"
    r"(?: on (?P<device>/[\w:/]+:\d+))?"
)
_COPY = re.compile(r"Failed copying input tensor from \S+ to (?P<device>/[\w:/]+:\d+) .*Dst tensor is not initialized")
_BYTES = re.compile(
    r"(?:Out of memory|OOM) (?:when |while )?(?:trying to )?allocat\w+ (?P<bytes>\d+) bytes", re.IGNORECASE
)
_ALL = re.compile(
    r"OOM when allocating (?P<more>\d+) bytes beyond the (?P<all>\d+) of all simulated GPUs(?: \[Op:(?P<op>\w+)\])?"
)
_FUNCTION = re.compile(r"__(?:inference|forward|backward)_(?P<name>\w+?)_\d+")
_SIZES = {"half": 2, "bfloat16": 2, "double": 8, "int64": 8, "complex64": 8, "complex128": 16, "bool": 1, "int8": 1}
"""Bytes of an element, by type name in such errors; 4 for others."""


_FIXED = frozenset({"weights", "slots", "gradients", "python"})
"""Groups of holders that do not grow with the batch."""

KERAS_BATCH = 32
"""The batch that `fit` cuts out of arrays unless it is given another."""


class Refused(NamedTuple):
    """A failed allocation: its device, "" if unknown, and its bytes, None if unknown."""

    device: str
    size: int | None


class Fitting(NamedTuple):
    """A batch that did not fit, and about the one above which none does."""

    batch: int
    fits: int


def refused(capture: Capture) -> Refused | None:
    """The failed allocation that ended the program. An error that names no device is the GPU's if there is one GPU,
    unless it is simulated: then it shares its allocator with the host."""
    found = next(_read(capture.error), None)
    if found is None or found.device or capture.simulated:
        return found
    gpus = [device for device in capture.own_devices if device.startswith("GPU")]
    return found._replace(device=gpus[0]) if len(gpus) == 1 else found


class Needed(NamedTuple):
    """The function or operation for which there was no room, and the bytes that it needed while it ran, beyond what is
    held anyway."""

    name: str
    size: int


def needed_to_run(capture: Capture, held: Iterable[Held]) -> Needed | None:
    """Memory that a function needed and the simulated GPUs did not have; None if something else ended the program."""
    found = _ALL.search(capture.error)
    if found is None:
        return None
    beside = sum(one.peak for one in held if one.device.startswith("GPU"))
    function = _FUNCTION.fullmatch(found["op"] or "")
    return Needed(
        function["name"] if function else found["op"] or "", max(int(found["all"]) + int(found["more"]) - beside, 0)
    )


def with_needed(capture: Capture, held: Iterable[Held]) -> tuple[Held, ...]:
    """Holders of memory, with the memory that a function needed and its simulated GPU did not have, if it is the only
    such GPU: as "other", on the line that called the function."""
    held = tuple(held)
    gpus = [one for one in held if one.device.startswith("GPU")]
    needed = needed_to_run(capture, held)
    if needed is None or not needed.size or len(gpus) != 1:
        return held
    peak = gpus[0].peak + needed.size
    ran = Holder(gpus[0].device, "other", capture.error_at, needed.size)
    holders = tuple(sorted((*gpus[0].holders, ran), key=lambda one: -one.bytes))
    full = gpus[0]._replace(peak=peak, allocator=peak, holders=holders)
    return tuple(full if one is gpus[0] else one for one in held)


def retried(capture: Capture) -> int:
    """Number of distinct failed allocations in TensorFlow's log, including those that a retry satisfied."""
    lines = {message for log in capture.logs.values() for message in log.messages}
    return sum("ran out of memory trying to allocate" in line for line in lines)


def largest_batch(capture: Capture, held: Iterable[Held]) -> Fitting | None:
    """The batch of the failed step, and an upper bound of those that fit: what is neither weights, optimizer slots,
    gradients nor kept by Python grows with it, and was not yet complete. None if the batch, the limit or who holds the
    memory is unknown, or if memory is fragmented: then as large a batch might fit another time."""
    failed = refused(capture)
    batches = [
        one.batch or (KERAS_BATCH if one.kind == ARRAYS else 0)
        for one in capture.data
        if one.where is not None and one.where == capture.error_at
    ]
    if failed is None or not failed.size or not max(batches, default=0):
        return None
    held = list(held)
    full = next((one for one in held if one.device == failed.device or not failed.device), None)
    limit = _limit(capture, full.device) if full is not None else None
    if full is None or limit is None:
        return None
    fixed = sum(one.bytes for one in full.holders if one.group in _FIXED)
    needed = needed_to_run(capture, held)
    if needed is not None and sum(one.device.startswith("GPU") for one in held) > 1:
        return None  # they share an allocator, which does not tell whose it was
    growing = full.peak - fixed + (needed.size if needed is not None else failed.size)
    batch = max(batches)
    fits = int(batch * (limit - fixed) / growing)
    return Fitting(batch, max(fits, 0)) if fits < batch else None


def _limit(capture: Capture, device: str) -> int | None:
    """Bytes of a device's allocator."""
    if device in capture.limits:
        return capture.limits[device]
    place = places(message for log in capture.logs.values() for message in log.messages).get(device)
    return place.limit if place is not None else None


def _read(text: str) -> Iterator[Refused]:
    """Refused allocations that an error message names."""
    if found := _TENSOR.search(text):
        size = _SIZES.get(found["type"] or "", 4)
        for length in filter(None, found["shape"].split(",")):
            size *= int(length)
        yield Refused(short_device(found["device"]) if found["device"] else "", size)
    if found := _COPY.search(text):
        yield Refused(short_device(found["device"]), None)
    if found := _BYTES.search(text):
        yield Refused("", int(found["bytes"]))
