"""The words of identifiers."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*|\d+")


@lru_cache(maxsize=8192)
def words(name: str) -> frozenset[str]:
    """The words of an identifier, lower case: `GLOBAL_batchSize` has global, batch and size."""
    return frozenset(word.lower() for word in _WORD.findall(name))
