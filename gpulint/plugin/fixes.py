"""Changes to a text, ready to be offered as fixes: each module has one reason to change a text."""

from __future__ import annotations

from gpulint.rewriting import calls, loops, names, scopes, statements

__all__ = [
    "calls",
    "loops",
    "names",
    "scopes",
    "statements",
]
