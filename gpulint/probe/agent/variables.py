"""Variables as they are created, and how many older ones still exist."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

from gpulint.probe.agent.holders import Holder, Holders, group_of_variable
from gpulint.probe.agent.places import Place

_Key: TypeAlias = "tuple[tuple[Place | None, ...], str]"
"""The line that creates variables with its callers, and their device."""


class Variables:
    """Reports each new variable.

    A round is everything created between two uses of models: `uses` is the number of training steps and model calls so
    far.
    """

    def __init__(
        self, uses: Callable[[], int], on_variable: Callable[[dict[str, Any]], None], holders: Holders
    ) -> None:
        self._uses, self._on_variable, self._holders = uses, on_variable, holders
        self._lock = threading.RLock()  # a variable may be collected while another is recorded
        self._living: dict[_Key, Counter[int]] = {}
        """Round → number of its variables that still exist."""
        self._references: dict[int, weakref.ref[Any]] = {}
        """Keyed by number: the referents may be unhashable."""
        self._made = 0

    def made(self, name: Any, attrs: Any, handle: Any, device: str, callers: list[Place | None]) -> None:
        """A variable was created, with this handle, a tensor that lives as long. `callers` are the program's lines,
        innermost first."""
        given = dict(zip(attrs[::2], attrs[1::2])) if attrs else {}  # noqa: B905
        dtype, shape = given.get("dtype"), given.get("shape")
        sizes = list(shape.as_list()) if shape is not None and getattr(shape, "rank", None) is not None else []
        size = getattr(dtype, "size", 0)
        for length in sizes:
            size *= length if length is not None else 0
        place, *others = callers or [None]
        self._holders.add(handle, Holder(device, group_of_variable(), place, "variable"), size)
        now = self._uses()
        self._on_variable(
            {
                "name": str(name or given.get("debug_name") or given.get("shared_name") or "").rstrip("/"),
                "shape": [length if length is not None else -1 for length in sizes],
                "dtype": str(getattr(dtype, "name", dtype)),
                "bytes": size,
                "device": device,
                "where": place,
                "callers": others,
                "round": now,
                "older": self._older((tuple(callers), device), now, handle),
            }
        )

    def _older(self, key: _Key, now: int, handle: Any) -> int:
        """Number of earlier rounds with variables from the same line that still exist."""

        with self._lock:
            self._made += 1
            number, living = self._made, self._living.setdefault(key, Counter())

            def gone(reference: weakref.ref[Any]) -> None:
                with self._lock:
                    del self._references[number]
                    living[now] -= 1

            living[now] += 1
            self._references[number] = weakref.ref(handle, gone)
            return sum(1 for round, count in living.items() if round != now and count > 0)
