"""Where the documentation is on the web."""

from __future__ import annotations

SITE = "https://gpulint.readthedocs.io/"


def url(code: str, name: str) -> str | None:
    """The page of a rule, where `scripts/pages` puts it. None for a rule of others: only our codes begin with GPU."""
    return f"{SITE}rules/{name}/" if code.startswith("GPU") else None
