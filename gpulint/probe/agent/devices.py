"""Short device names."""

from __future__ import annotations

import re
from functools import lru_cache

_FULL = re.compile(r"(?:/job:(\w+))?(?:/replica:\d+)?(?:/task:(\d+))?/?(?:device:)?(\w+):(\d+)$", re.IGNORECASE)


@lru_cache(maxsize=1024)
def short(name: str) -> str:
    """`GPU:0` of `/job:localhost/replica:0/task:0/device:GPU:0`; with job and task in a cluster. Other text is
    unchanged."""
    found = _FULL.match(name)
    if found is None:
        return name
    job, task, kind, index = found.groups()
    own = f"{kind.upper()}:{index}"
    return own if job in (None, "localhost") else f"/job:{job}/task:{task or 0}/{own}"
