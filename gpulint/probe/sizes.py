"""Sizes of memory in words."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def in_words(size: float) -> str:
    """A number of bytes in the unit that fits: `612 B`, `60.1 KiB`, `1.4 GiB`."""
    unit = 0
    while size >= 1000 and unit + 1 < len(_UNITS):
        size /= 1024
        unit += 1
    text = f"{size:.0f}" if unit == 0 or size >= 100 else f"{size:.1f}".removesuffix(".0")
    return f"{text} {_UNITS[unit]}"
