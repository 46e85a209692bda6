"""Colors, links and line breaks for terminals."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import NamedTuple

MIN_WIDTH = 40
"""Narrowest width for which text is wrapped, in columns."""

_LINKING = ("DOMTERM", "GHOSTTY_RESOURCES_DIR", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "VTE_VERSION", "WT_SESSION")
"""Environment variables of terminals that show OSC 8 links; others may print the escape."""

_LINKING_PROGRAMS = ("ghostty", "Hyper", "iTerm.app", "terminology", "vscode", "WezTerm")
"""Values of TERM_PROGRAM of such terminals."""


def shows_links(environment: Mapping[str, str], is_terminal: bool) -> bool:
    """Whether the output can have OSC 8 links, from the environment variables: FORCE_HYPERLINK decides if it is set."""
    if (forced := environment.get("FORCE_HYPERLINK")) is not None:
        return forced not in ("", "0")
    if not is_terminal:
        return False
    return any(map(environment.get, _LINKING)) or environment.get("TERM_PROGRAM") in _LINKING_PROGRAMS


class Style(NamedTuple):
    """Features that the output may use: ANSI colors, OSC 8 links, and lines of `width` columns (None: of any
    length)."""

    color: bool = False
    links: bool = False
    width: int | None = None

    def paint(self, text: str, code: str) -> str:
        """Text in a color, given the parameters of its escape sequence: "1;31" is bold red."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text else text

    def link(self, text: str, url: str | None) -> str:
        """Text that opens a page, if there is one."""
        return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if self.links and url else text

    def columns(self, indent: int) -> int | None:
        """Columns left behind an indent; None for any number."""
        return max(self.width - indent, MIN_WIDTH) if self.width is not None else None

    def lines(self, text: str, indent: int = 0) -> list[str]:
        """One line of text, broken between words so that each part fits behind an indent."""
        width = self.columns(indent)
        if width is None or len(text) <= width:
            return [text]
        return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)

    def paragraph(self, head: str, indent: int, text: str, code: str = "") -> str:
        """Text behind a painted head that is `indent` columns wide; its further lines are indented as far."""
        parts = [self.paint(line, code) if code else line for line in self.lines(text, indent)]
        return head + f"\n{'':>{indent}}".join(parts)


PLAIN = Style()
"""No color, no links, no line breaks."""
