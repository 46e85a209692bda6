"""The frame of a page: head, sections as tabs, style and script, all in one file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from xml.etree.ElementTree import Element

from gpulint._version import __version__
from gpulint.probe.report.page.markup import Child, document, raw, tag


def framed(
    command: str, banner: Element, sections: Sequence[tuple[str, Iterable[Child]]], tool: str = "gpulint probe"
) -> str:
    """A page with a section for each name, and a tab for each section if there are several. `tool` made it."""
    names = [name for name, _ in sections]
    return document(
        tag(
            "html",
            _head(command, tool),
            tag(
                "body",
                banner,
                tag("nav", (tag("a", name, href=f"#{name.lower()}") for name in names), aria_label="Sections")
                if len(names) > 1
                else None,
                tag(
                    "main",
                    (
                        tag("section", tag("h2", name, tabindex=-1), body, id=name.lower(), aria_label=name)
                        for name, body in sections
                    ),
                ),
                tag("footer", f"Made by gpulint {__version__}. This page loads nothing."),
                raw("script", _own("page.js")),
            ),
            lang="en",
        )
    )


def _head(command: str, tool: str) -> Element:
    style, script = _own("page.css"), _own("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"{tool}: {command}" if command else tool),
        raw("style", style),
    )


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """A hash source for the content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
