"""GPUs by name: memory, peak rates and links, from the vendor's data sheets (`cards.toml`)."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pkgutil import get_data
from typing import Any

from gpulint.probe.measures.sizes import in_bytes
from gpulint.settings.toml import parsed

DEFAULTS = ("T4", "L4", "A10G", "A100-40GB", "A100-80GB", "H100")
"""Cards of the report where none is named and this machine has none: those that clouds rent out most."""

FIELDS = ("memory", "tflops", "tf32", "half", "float64", "bandwidth", "cache", "link", "host")
"""Fields of a card by numbers; `memory` is required."""

_SIZES = ("memory", "cache")

_RESERVED = ((6, 500), (7, 1050), (8, 1536))
"""MiB that TensorFlow leaves to the system, up to a major compute capability; 1800 above (`MinSystemMemory` in
`gpu_device.cc`)."""
_RESERVED_ABOVE = 1800
_CONTEXT, _DRIVER_SHARE = 450, 0.01
"""MiB of the CUDA context and share of the card that the driver keeps. With both, the rule below is from 1.5 % under to
0.6 % over what TensorFlow reports on twelve of the thirteen cards whose report is in the table; 2.9 % over on the RTX
5090, whose only report is from a workstation."""

_LARGEST_CACHE = 128
"""MiB of cache of a card by numbers: the largest there is, so that what follows from it stays a bound."""

_MIB = 1 << 20


class UnknownCard(ValueError):
    """No card has this name, or the numbers cannot be read."""


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU. Rates are peaks per second that no program exceeds at the card's boost clock: FLOP, or bytes (links: in
    one direction). None where they are unknown."""

    name: str
    memory: int
    """Bytes of the card, as the driver reports."""
    limit: int
    """Bytes that TensorFlow leaves to the program when it has the card for itself."""
    float64: float | None
    float32: float | None
    tf32: float | None
    """float32 matrix products on tensor cores, which TensorFlow allows by default; None on cards without them."""
    half: float | None
    """float16 and bfloat16 matrix products."""
    bandwidth: float | None
    """Bytes per second between the card and its memory."""
    cache: int
    """Bytes of the L2 cache."""
    link: float | None
    """Bytes per second between two cards."""
    link_kind: str
    host: float | None
    """Bytes per second from the host to the card."""
    source: str
    """Where the rates come from: a URL, or `command line`."""

    def matrix_rate(self, dtype: str) -> float | None:
        """Peak FLOP per second of matrix products of this dtype; None if unknown."""
        if dtype in ("float16", "half", "bfloat16"):
            return self.half or self.float32
        if dtype in ("float64", "complex128"):
            return self.float64 or self.float32
        return _greatest(self.tf32, self.float32)


def _greatest(*rates: float | None) -> float | None:
    return max((rate for rate in rates if rate is not None), default=None)


def names() -> tuple[str, ...]:
    """Names of the table, in its order."""
    return tuple(_table())


def cards(text: str) -> tuple[Card, ...]:
    """The cards of an option's value: names, and at most one card by numbers, separated by commas.

    Raises UnknownCard."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UnknownCard(f"name a GPU; known: {', '.join(names())}")
    numbers = [word for word in words if "=" in word]
    found: dict[str, Card] = {}
    for word in words:
        one = by_numbers(numbers) if "=" in word else by_name(word)
        found.setdefault(one.name, one)
    return tuple(found.values())


def by_name(text: str) -> Card:
    """The card with a name, an alias or the name that the driver reports. Case, blanks, dashes and `NVIDIA` do not
    matter. Raises UnknownCard with the names that are nearest."""
    spelled = _spelled()
    key = _key(text)
    if key in spelled:
        return _card(spelled[key], _table()[spelled[key]])
    near = difflib.get_close_matches(key, spelled, 5, 0.5)
    listed = list(dict.fromkeys(spelled[one] for one in near))[:3]
    hint = f"did you mean {' or '.join(listed)}?" if listed else f"known: {', '.join(names())}."
    raise UnknownCard(f"no GPU is called {text!r}; {hint} Describe any other by memory=24GiB,tflops=80,bandwidth=1000")


def by_numbers(words: list[str]) -> Card:
    """A card from `name=value` words; see FIELDS. `memory` and `cache` are sizes, the others TFLOP/s and GB/s. `memory`
    is what the card has, and what TensorFlow leaves of it follows the rule for recent cards. Raises UnknownCard."""
    values: dict[str, float] = {}
    for word in words:
        field, _, value = (part.strip() for part in word.partition("="))
        if field not in FIELDS:
            raise UnknownCard(f"a GPU has no {field!r}; write {', '.join(f'{one}=…' for one in FIELDS)}")
        if field in values:
            raise UnknownCard(f"{field} is given twice; only one GPU can be described by numbers")
        try:
            values[field] = in_bytes(value) if field in _SIZES else float(value)
        except ValueError as error:
            why = str(error) if field in _SIZES else f"{value!r} is not a number"
            raise UnknownCard(f"{field}: {why}") from None
        if not 0 < values[field] < math.inf:
            raise UnknownCard(f"{field}: {value} is not above zero")
    if "memory" not in values:
        raise UnknownCard("a GPU described by numbers needs its memory: memory=24GiB,tflops=80,bandwidth=1000")
    tera = {field: values[field] * 1e12 for field in ("tflops", "tf32", "half", "float64") if field in values}
    giga = {field: values[field] * 1e9 for field in ("bandwidth", "link", "host") if field in values}
    memory = int(values["memory"])
    return Card(
        name=",".join(word.replace(" ", "") for word in words),
        memory=memory,
        limit=usable(memory, _RESERVED_ABOVE),
        float64=tera.get("float64"),
        float32=tera.get("tflops"),
        tf32=tera.get("tf32"),
        half=tera.get("half"),
        bandwidth=giga.get("bandwidth"),
        cache=int(values.get("cache", _LARGEST_CACHE * _MIB)),
        link=giga.get("link"),
        link_kind="link",
        host=giga.get("host"),
        source="command line",
    )


def usable(memory: int, reserved: int) -> int:
    """Bytes that TensorFlow leaves of `memory` on a card where it reserves `reserved` MiB for the system; where less
    than 2 GiB are left, 225 MiB."""
    available = memory - _CONTEXT * _MIB - int(memory * _DRIVER_SHARE)
    return max(available - (225 if available < 2 << 30 else reserved) * _MIB, 0)


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Mapping[str, Any]]:
    return parsed((get_data("gpulint.estimate", "cards.toml") or b"").decode())


@lru_cache(maxsize=1)
def _spelled() -> Mapping[str, str]:
    """Every spelling → the name in the table."""
    found: dict[str, str] = {}
    for name, row in _table().items():
        for one in (name, *row.get("aliases", ()), *row["driver"]):
            found[_key(one)] = name
    return found


def _key(text: str) -> str:
    return re.sub(r"nvidia|geforce|tesla|[^a-z0-9]", "", text.lower())


def _card(name: str, row: Mapping[str, Any]) -> Card:
    def rate(field: str, unit: float) -> float | None:
        return row[field] * unit if field in row else None

    memory = row["memory"] * _MIB
    major = int(row["capability"])
    reserved = next((amount for upto, amount in _RESERVED if major <= upto), _RESERVED_ABOVE)
    return Card(
        name=name,
        memory=memory,
        limit=row["tensorflow"] * _MIB if "tensorflow" in row else usable(memory, reserved),
        float64=rate("float64", 1e12),
        float32=rate("float32", 1e12),
        tf32=rate("tf32", 1e12),
        half=rate("half", 1e12),
        bandwidth=rate("bandwidth", 1e9),
        cache=int(row["cache"] * _MIB),
        link=row["link"][0] * 1e9,
        link_kind=row["link"][1],
        host=rate("host", 1e9),
        source=row["source"],
    )
