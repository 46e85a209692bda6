"""Where the documentation is on the web."""

from __future__ import annotations

SITE = "https://gpulint.readthedocs.io/"


def url(name: str) -> str:
    """The page of a rule. `scripts/generate_pages.py` puts it there."""
    return f"{SITE}rules/{name}/"
