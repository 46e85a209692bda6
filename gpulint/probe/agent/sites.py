"""Sites of eager operations: an operation that ran from the same code, on the same device, is counted without a close
look. Programs that run eagerly have thousands of them a second, and a close look takes half as long as the operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import Generic, TypeAlias, TypeVar

MOST = 10_000
"""Limit of remembered sites: programs can create code without end."""

Site: TypeAlias = "tuple[int, int, int, str | bytes, str, str, int, bool | str]"
"""Thread, code and position in it, operation, requested device, device, dtype of the first input, and part of a
strategy's own work, True for none."""

_Key = TypeVar("_Key")


class Seen(Generic[_Key]):
    """How operations of a site are counted. `code` keeps the number of its code from being used again."""

    __slots__ = ("code", "count", "is_counted", "key", "taken")

    def __init__(self, key: _Key, code: CodeType | None, is_counted: bool) -> None:
        self.key, self.code, self.is_counted = key, code, is_counted
        self.count = self.taken = 0


class Sites(Generic[_Key]):
    """Sites with the keys under which their operations are counted.

    Only a site's own thread counts in it, so that counting needs no lock.
    """

    def __init__(self) -> None:
        self.seen: dict[Site, Seen[_Key]] = {}

    def remember(self, site: Site, seen: Seen[_Key]) -> None:
        """From now on operations of this site are counted there."""
        if len(self.seen) < MOST:
            self.seen[site] = seen

    def take(self) -> Iterator[tuple[_Key, int]]:
        """Counts since the last call, which may come from any thread."""
        for seen in list(self.seen.values()):
            count = seen.count
            if count != seen.taken:
                yield seen.key, count - seen.taken
                seen.taken = count
