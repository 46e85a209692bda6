"""The last line of a run, and `--statistics`."""

from __future__ import annotations

from collections import Counter

from gpulint.linting.engine import CheckResult
from gpulint.output.escapes import json_text
from gpulint.output.view import counts


def footer(result: CheckResult) -> str:
    """`Found 2 errors and 1 warning in 3 files.`"""
    if not result.findings:
        return "All checks passed!" if result.files else "No Python files found."
    words = ("error", "warning", "note")
    parts = [number(count, word) for count, word in zip(counts(result), words, strict=True) if count]
    files = len({one.span.path for one in result.findings})
    return f"Found {' and '.join(parts)} in {number(files, 'file')}."


def number(count: int, word: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def statistics(result: CheckResult, form: str) -> str:
    """How often each rule was broken, the most frequent first; as JSON for the format "json"."""
    numbers = Counter((one.code, one.name) for one in result.findings)
    rows = sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))
    if form == "json":
        return json_text([{"code": code, "name": name, "count": count} for (code, name), count in rows]) + "\n"
    width = max((len(str(count)) for _, count in rows), default=0)
    return "".join(f"{count:>{width}}\t{code}\t{name}\n" for (code, name), count in rows)
