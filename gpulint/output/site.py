"""Where the documentation is on the web."""

from __future__ import annotations

SITE = "https://gpulint.readthedocs.io/"


def url(code: str, name: str) -> str | None:
    """URL of the page that `scripts/pages` builds for a rule; None for plug-in rules, whose codes do not begin with
    GPU."""
    return f"{SITE}rules/{name}/" if code.startswith("GPU") else None
