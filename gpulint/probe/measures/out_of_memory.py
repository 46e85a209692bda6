"""Devices that ran out of memory, from the error that ended the program and from TensorFlow's log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpulint.probe.capture.contents import Capture
from gpulint.probe.placement_log.counts import short_device

_TENSOR = re.compile(
    r"OOM when allocating tensor (?:with shape|of shape )\[(?P<shape>[\d,]*)\](?: and type (?P<type>\w+))?"
    r"(?: on (?P<device>/[\w:/]+:\d+))?"
)
_COPY = re.compile(r"Failed copying input tensor from \S+ to (?P<device>/[\w:/]+:\d+) .*Dst tensor is not initialized")
_BYTES = re.compile(
    r"(?:Out of memory|OOM) (?:when |while )?(?:trying to )?allocat\w+ (?P<bytes>\d+) bytes", re.IGNORECASE
)
_SIZES = {"half": 2, "bfloat16": 2, "double": 8, "int64": 8, "complex64": 8, "complex128": 16, "bool": 1, "int8": 1}
"""Bytes of an element, by type name in such errors; 4 for others."""


class Refused(NamedTuple):
    """A failed allocation: its device, "" if unknown, and its bytes, None if unknown."""

    device: str
    size: int | None


def refused(capture: Capture) -> Refused | None:
    """The failed allocation that ended the program."""
    return next(_read(capture.error), None)


def retried(capture: Capture) -> int:
    """Number of distinct failed allocations in TensorFlow's log, including those that a retry satisfied."""
    lines = {message for log in capture.logs.values() for message in log.messages}
    return sum("ran out of memory trying to allocate" in line for line in lines)


def _read(text: str) -> Iterator[Refused]:
    if found := _TENSOR.search(text):
        size = _SIZES.get(found["type"] or "", 4)
        for length in filter(None, found["shape"].split(",")):
            size *= int(length)
        yield Refused(short_device(found["device"]) if found["device"] else "", size)
    if found := _COPY.search(text):
        yield Refused(short_device(found["device"]), None)
    if found := _BYTES.search(text):
        yield Refused("", int(found["bytes"]))
