"""The TensorFlow that a notebook installs for itself."""

from __future__ import annotations

import re

_PINNED = re.compile(
    r"^[^#\n]*\bpip3?\b[^#\n]*\binstall\b[^#\n]*?[\s'\"]tensorflow(?:[-_](?:cpu|gpu))?(?:\[[\w,-]+\])?[ \t]*[=~]=[ \t]*"
    r"(?P<release>\d+\.\d+)",
    re.MULTILINE,
)
_CHOSEN = re.compile(r"^[ \t]*%tensorflow_version[ \t]+1\b", re.MULTILINE)

LAST_1 = "1.15"
"""What `%tensorflow_version 1.x` gave in Colab."""


def pinned(text: str) -> str | None:
    """The release, such as "2.3", that a cell installs; None where it installs none or does not say which."""
    if (found := _PINNED.search(text)) is not None:
        return found["release"]
    return LAST_1 if _CHOSEN.search(text) else None
