"""Reports of an estimate, one module for each format, with `render`."""

from __future__ import annotations

from importlib import import_module

from gpulint.estimate.result import Estimate

FORMATS = ("text", "json")
"""Format names; each is a module of this package."""


def render(form: str, estimate: Estimate, color: bool = False, **look: int) -> str:
    """The report in a format; `look` is the `width` of the text. Raises KeyError for an unknown format."""
    if form not in FORMATS:
        raise KeyError(form)
    text: str = import_module(f"{__name__}.{form}").render(estimate, color, **(look if form == "text" else {}))
    return text
