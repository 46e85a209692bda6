"""Formats and parses sizes of memory."""

from __future__ import annotations

import re

BYTES: dict[str, float] = {
    "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip
"""Bytes of each unit."""

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)")

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def in_words(size: float) -> str:
    """Bytes in a fitting unit: `612 B`, `60.1 KiB`, `1.4 GiB`."""
    unit = 0
    while size >= 1000 and unit + 1 < len(_UNITS):
        size /= 1024
        unit += 1
    text = f"{size:.0f}" if unit == 0 or size >= 100 else f"{size:.1f}".removesuffix(".0")
    return f"{text} {_UNITS[unit]}"


def in_bytes(text: str) -> int:
    """Bytes of a size with unit: `16GiB`, `1.5 GB` or `800mib`. Raises ValueError."""
    found = _SIZE.fullmatch(text.strip())
    worth = {unit.lower(): bytes_ for unit, bytes_ in BYTES.items()}
    if found is None or found[2].lower() not in worth:
        raise ValueError(f"{text!r} is not a size: write a number and a unit, such as 16GiB or 800MB")
    return int(float(found[1]) * worth[found[2].lower()])
