"""Modules are parsed once and used by many runs."""

from __future__ import annotations

import pytest

from gpulint.analysis.project.parsed import Parsed
from gpulint.sources.decoding import decode
from gpulint.sources.source import Source
from gpulint.syntax.parse import CannotParse


def source(path: str, text: str) -> Source:
    return decode(path, text.encode())


def test_the_syntax_of_a_text_is_parsed_once() -> None:
    parsed = Parsed(characters=100)
    first = parsed.syntax(source("/a.py", "x = 1\n"))
    assert parsed.syntax(source("/a.py", "x = 1\n")) is first
    assert parsed.syntax(source("/a.py", "x = 2\n")) is not first
    assert parsed.syntax(source("/b.py", "x = 1\n")).path == "/b.py"


def test_what_was_used_last_is_kept() -> None:
    parsed = Parsed(characters=12)
    first, second = source("/a.py", "x = 1\n"), source("/b.py", "y = 1\n")
    kept, dropped = parsed.syntax(first), parsed.syntax(second)
    assert parsed.syntax(first) is kept
    parsed.syntax(source("/c.py", "z = 1\n"))
    assert parsed.syntax(first) is kept and parsed.syntax(second) is not dropped


def test_by_default_no_syntax_is_kept() -> None:
    parsed = Parsed()
    assert parsed.syntax(source("/a.py", "x = 1\n")) is not parsed.syntax(source("/a.py", "x = 1\n"))


def test_what_cannot_be_parsed_is_no_syntax() -> None:
    with pytest.raises(CannotParse):
        Parsed(100).syntax(source("/a.py", "x = (\n"))
