"""Where the documentation is on the web."""

from __future__ import annotations

SITE: str | None = None
"""Address of the site that `scripts/pages` makes, with a slash at its end. None: it is not published, and nothing links
to it."""


def url(code: str, name: str) -> str | None:
    """URL of a rule's page on the site. None for plug-in rules, which have no page there."""
    return f"{SITE}rules/{name}/" if SITE is not None and ships(code) else None


def ships(code: str) -> bool:
    """Whether a rule ships with gpulint: the codes of plug-in rules do not begin with GPU."""
    return code.startswith("GPU")
