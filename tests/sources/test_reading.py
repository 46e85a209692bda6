"""Reading files within limits."""

from __future__ import annotations

from pathlib import Path

from gpulint.sources.reading import lines_of


def test_a_long_line_is_not_held_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("a\n" + "b" * 25 + "\nc\n" + "d" * 10 + "\n" + "e" * 30)
    assert list(lines_of(str(path), 10)) == ["a\n", "b" * 10, "c\n", "d" * 10, "e" * 10]
