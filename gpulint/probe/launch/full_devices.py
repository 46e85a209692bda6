"""Says while a program runs that a device has no memory left: TensorFlow retries a failed allocation for 10 s, so that
the program looks hung."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_FAILED = re.compile(r"Allocator \((?P<allocator>[^)]*)\) ran out of memory trying to allocate (?P<size>[\d.]+\s?\w+)")
_DEVICE = re.compile(r"GPU_(\d+)_bfc$")


class FullDevices:
    """Finds failed allocations among TensorFlow's messages; tells of each allocator once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def look(self, messages: Iterable[str]) -> Iterator[str]:
        """A line for each allocator that failed for the first time."""
        for message in messages:
            found = _FAILED.search(message)
            if found is None or found["allocator"] in self._told:
                continue
            self._told.add(found["allocator"])
            gpu = _DEVICE.match(found["allocator"])
            device = f"GPU:{gpu[1]}" if gpu else f"the allocator {found['allocator']}"
            yield (
                f"{device} could not allocate {found['size']}. TensorFlow retries each failed allocation for 10 s, "
                "so the program may look hung."
            )
