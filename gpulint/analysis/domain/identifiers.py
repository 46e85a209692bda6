"""Words of identifiers."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*|\d+")


@lru_cache(maxsize=8192)
def words(name: str) -> frozenset[str]:
    """Words of an identifier in lower case: "global", "batch" and "size" for `GLOBAL_batchSize`."""
    return frozenset(word.lower() for word in _WORD.findall(name))
