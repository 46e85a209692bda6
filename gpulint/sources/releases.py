"""TensorFlow releases as comparable tuples."""

from __future__ import annotations


def release(text: str) -> tuple[int, ...]:
    """Major and minor number of a release: (2, 16) for "2.16". Raises `ValueError` if a part is not a number."""
    return tuple(int(part) for part in text.split(".")[:2])
