"""Variables as they are made, and which of the older ones are still there."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

from gpulint.probe.agent.places import Place

_Key: TypeAlias = "tuple[tuple[Place | None, ...], str]"
"""Where variables are made, with the calls that led there, and the device they are on."""


class Variables:
    """Tells of each variable that is made.

    A round is what is made between two uses of models: `uses` counts training steps and calls of models so far.
    """

    def __init__(self, uses: Callable[[], int], on_variable: Callable[[dict[str, Any]], None]) -> None:
        self._uses, self._on_variable = uses, on_variable
        self._lock = threading.RLock()  # a variable may be collected while another is noted
        self._living: dict[_Key, Counter[int]] = {}
        """Round → how many of its variables are still there."""
        self._references: dict[int, weakref.ref[Any]] = {}
        """By a number: what a reference is to may have no hash."""
        self._made = 0

    def made(self, name: Any, attrs: Any, handle: Any, device: str, callers: list[Place | None]) -> None:
        """A variable was made, whose handle this is: a tensor that lives as long as it does. `callers` are the user's
        places, from the innermost outwards."""
        given = dict(zip(attrs[::2], attrs[1::2])) if attrs else {}  # noqa: B905
        dtype, shape = given.get("dtype"), given.get("shape")
        sizes = list(shape.as_list()) if shape is not None and getattr(shape, "rank", None) is not None else []
        size = getattr(dtype, "size", 0)
        for length in sizes:
            size *= length if length is not None else 0
        place, *others = callers or [None]
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
        """Of how many earlier rounds something is there that was made at the same place."""

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
