"""What a fix changes, as a unified diff."""

from __future__ import annotations

import difflib

from gpulint.fixing.text import rows_of
from gpulint.sources.source import Source

NO_LINE_END = "\\ No newline at end of file\n"


def difference(path: str, before: Source, after: Source) -> str:
    """A unified diff with three rows of context that `patch` understands, "" where nothing changes."""
    rows = difflib.unified_diff(rows_of(before.text), rows_of(after.text), path, path)
    return "".join(row if row.endswith(("\n", "\r")) else f"{row}\n{NO_LINE_END}" for row in rows)
