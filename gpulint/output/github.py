"""GitHub workflow commands: annotations beside the lines of a pull request."""

from __future__ import annotations

from gpulint.output.escapes import printable_rows

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})
"""GitHub's own escapes: of messages, and of properties."""


def annotation(level: str, title: str, path: str, rows: str, text: str) -> str:
    """One command. `level`: "error", "warning" or "notice"; `rows`: properties such as `line=3,endLine=4`."""
    place = f"file={printable_rows(path).translate(_PROPERTY)},{rows}" if path else rows
    properties = ",".join(filter(None, (f"title={title.translate(_PROPERTY)}", place)))
    return f"::{level} {properties}::{printable_rows(text).translate(_DATA)}"
