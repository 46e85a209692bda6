"""Short device names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

_FULL = re.compile(r"(?:/job:(\w+))?(?:/replica:\d+)?(?:/task:(\d+))?/?(?:device:)?(\w+):(\d+)$", re.IGNORECASE)
_MACHINE = re.compile(r"(?=/)(?:/job:\w+)?(?:/replica:\d+)?(?:/task:\d+)?", re.IGNORECASE)
"""A process of a cluster, without a device of it: where `py_function` has to run."""


@lru_cache(maxsize=1024)
def short(name: str) -> str:
    """`GPU:0` of `/job:localhost/replica:0/task:0/device:GPU:0`; with job and task in a cluster. "" if it names no
    device of them; other text is unchanged."""
    if _MACHINE.fullmatch(name):
        return ""
    found = _FULL.match(name)
    if found is None:
        return name
    job, task, kind, index = found.groups()
    own = f"{kind.upper()}:{index}"
    return own if job in (None, "localhost") else f"/job:{job}/task:{task or 0}/{own}"


def names_of(devices: Iterable[Any]) -> list[str]:
    """Short names of physical devices."""
    return [short(device.name.replace("physical_device:", "device:")) for device in devices]
