"""Releases of TensorFlow, so that they compare."""

from __future__ import annotations


def release(text: str) -> tuple[int, ...]:
    """The numbers of a release: (2, 16) of "2.16". Raises ValueError for what is none."""
    return tuple(int(part) for part in text.split(".")[:2])
