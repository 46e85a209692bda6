"""Sites of eager operations: an operation that ran from the same code, on the same device, is counted without a close
look. Programs that run eagerly have thousands of them a second, and a close look takes half as long as the operation.

To find the line that called an operation, Python creates an object for each frame of TensorFlow above it, which takes
longer than all the rest. But operations of one kind mostly have the same number of frames above them, so the program's
frame is found in one step. Now and then, all frames are visited to see whether that is still true.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from types import CodeType, FrameType
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

from gpulint.probe.agent.internals import Internals

MOST = 10_000
"""Limit of remembered sites: programs can create code without end."""

UNCHECKED = 63
"""Operations counted at a site before all frames are visited again; one less than a power of two."""

DEPTHS = 4
"""Limit of depths at which the program is looked for, for each kind of operation."""

Near: TypeAlias = "tuple[int, int, int, str | bytes, str, str, int]"
"""Code and position in it, thread, operation, requested device, device ("" if there is only one), and dtype of the
first input."""

_Key = TypeVar("_Key")


class Site(NamedTuple):
    """Where an operation ran. `part`: the part of a strategy's own work, True for none."""

    near: Near
    part: bool | str


class Located(NamedTuple):
    """The site of an operation that ran there for the first time, and its code."""

    site: Site
    code: CodeType | None


class Seen(Generic[_Key]):
    """How operations of a site are counted. `code` keeps the number of its code from being used again."""

    __slots__ = ("code", "count", "is_counted", "key", "near", "taken")

    def __init__(self, key: _Key, near: Near, code: CodeType | None, is_counted: bool) -> None:
        self.key, self.near, self.code, self.is_counted = key, near, code, is_counted
        self.count = self.taken = 0


class Sites(Generic[_Key]):
    """Sites with the keys under which their operations are counted.

    Only a site's own thread counts in it, so that counting needs no lock.
    """

    def __init__(self, internals: Internals, known: Mapping[str, bool | str]) -> None:
        """`known`: as in `Places`."""
        self._internals, self._known = internals, known
        self._seen: dict[Site, Seen[_Key]] = {}
        self.near: dict[Near, Seen[_Key] | None] = {}
        """Appearance of a frame at one of the `depths` → its site; None if that is ambiguous."""
        self.depths: dict[str | bytes, tuple[int, ...]] = {}
        """Operation → numbers of frames from the callback to the program, ascending."""

    def remember(self, located: Located, key: _Key, *, is_counted: bool) -> None:
        """Count operations at this site there from now on."""
        if len(self._seen) < MOST:
            self._seen[located.site] = Seen(key, located.site.near, located.code, is_counted)

    def find(
        self, op: str | bytes, inputs: Any, device: str, guess: Seen[_Key] | None, above: int
    ) -> tuple[Seen[_Key] | None, Located | None]:
        """The site of an operation, by all frames above it: how it is counted, or where it is if that is new. Corrects
        `near` and `depths`. To be called by the callback, which has `above` frames more than usual between it and the
        operation. `guess`: the site found at one of the `depths`. Raises KeyError for files that are not known yet,
        and ValueError if nothing called the operation."""
        depth, part = 2, cast("bool | str", True)  # the first frame is TensorFlow's
        frame: FrameType | None = sys._getframe(depth + 1 + above)
        while frame is not None and (foreign := self._known[frame.f_code.co_filename]):
            if foreign is not True:
                part = foreign
            frame = frame.f_back
            depth += 1
        code, position = (frame.f_code, frame.f_lasti) if frame is not None else (None, 0)
        thread = threading.get_ident()
        requested = self._internals.requested.get(thread)
        if requested is None:
            requested = self._internals.requested_in(thread)
        dtype = self._internals.dtype_of_tensor(inputs[0]) if inputs else 0
        site = Site((id(code), position, thread, op, requested, device, dtype), part)
        seen = self._seen.get(site)
        if guess is not None and guess is not seen:
            self.near[guess.near] = None
        if seen is None:
            return None, Located(site, code)
        if self.near.setdefault(site.near, seen) is not seen:
            self.near[site.near] = None
        elif depth not in (depths := self.depths.get(op, ())):
            self.depths[op] = tuple(sorted((*depths, depth))) if len(depths) < DEPTHS else (depth,)
        return seen, None

    def take(self) -> Iterator[tuple[_Key, int]]:
        """Counts since the last call, which may come from any thread."""
        for seen in list(self._seen.values()):
            count = seen.count
            if count != seen.taken:
                yield seen.key, count - seen.taken
                seen.taken = count
