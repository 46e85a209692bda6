"""Codes of what gpulint says of files and comments, and not of programs."""

from __future__ import annotations

SYNTAX_ERROR = "GPU001"
"""The code of files that cannot be read or parsed; it cannot be turned off."""

UNUSED = "GPU002"
TROUBLES = {"unknown": "GPU003", "malformed": "GPU004", "unmatched": "GPU005"}
ABOUT_COMMENTS = frozenset({UNUSED, *TROUBLES.values()})
"""Codes of findings about suppression comments, which no comment silences."""
