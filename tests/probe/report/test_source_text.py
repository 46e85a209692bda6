"""The source rows that ran, with notes on their reliability."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from gpulint.probe.agent.writer import LONGEST, MOST, Writer
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.reader import read
from gpulint.probe.capture.records import SourceText
from gpulint.probe.report.source_text import SourceFile, source_file
from tests.notebooks import notebook

BEGAN = 1_000_000.0


def captured(path: Path, text: str | None, *, modified: float = BEGAN - 9, data: bytes | None = None) -> Capture:
    """A run whose capture has a file."""
    digest = hashlib.sha256(data if data is not None else (text or "").encode()).hexdigest()
    return Capture(process={"t": BEGAN}, sources={str(path): SourceText(modified, digest, text)})


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text("x = 1\ny = 2\n")
    os.utime(path, (BEGAN - 9, BEGAN - 9))
    return path


def test_a_file_that_is_as_it_was_needs_no_word(script: Path) -> None:
    assert source_file(str(script), captured(script, "x = 1\ny = 2\n")) == SourceFile(
        str(script), ("x = 1", "y = 2"), ""
    )


def test_the_rows_that_ran_are_shown_after_the_file_has_changed(script: Path) -> None:
    capture = captured(script, "old = 1\n")
    changed = source_file(str(script), capture)
    assert (changed.rows, changed.note) == (("old = 1",), "These rows ran; the file has changed since.")
    script.unlink()
    gone = source_file(str(script), capture)
    assert (gone.rows, gone.note) == (("old = 1",), "These rows ran; the file no longer exists.")


def test_a_file_that_was_edited_as_it_ran_is_doubted(script: Path) -> None:
    capture = captured(script, "x = 1\ny = 2\n", modified=BEGAN + 5)
    assert "may be newer than those that ran" in source_file(str(script), capture).note


def test_a_text_that_was_too_long_to_keep_is_known_by_its_digest(script: Path) -> None:
    same = source_file(str(script), captured(script, None, data=script.read_bytes()))
    assert (same.rows, same.note) == (("x = 1", "y = 2"), "")
    other = source_file(str(script), captured(script, None, data=b"other"))
    assert other.rows == ("x = 1", "y = 2")
    assert "may not be those that ran" in other.note


@pytest.mark.parametrize(
    ("began", "part"),
    [
        (BEGAN, "last changed before the run"),
        (BEGAN - 20, "last changed after the run began"),
        (0.0, "which may have changed since the run"),
    ],
)
def test_a_capture_without_source_text_is_reported(script: Path, began: float, part: str) -> None:
    capture = Capture(process={"t": began} if began else {})
    assert source_file(str(script), capture).note == (
        f"The capture does not contain the text that ran. This is the current file, {part}."
    )


@pytest.mark.parametrize("name", ["none.py", "a\0b.py", "dir"])
def test_a_missing_file_is_reported(name: str, tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    found = source_file(os.path.join(tmp_path, name), Capture())
    assert found.rows is None
    assert found.note == "The file does not exist, and the capture does not contain its text."


def test_a_file_that_is_not_text_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\xff\xfe\x00")
    assert source_file(str(tmp_path / "a.py"), Capture()).note == "Python cannot read the file as text."


def test_rows_are_those_that_python_counts(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("\ufeffa\r\nb\rc\x0c\u2028d\n\n".encode())
    assert source_file(str(tmp_path / "a.py"), Capture()).rows == ("a", "b", "c\x0c\u2028d", "")


def test_the_agent_keeps_the_text_of_files_within_bounds(tmp_path: Path) -> None:
    texts = {f"{number}.py": f"# {number}\n" + "x" * (LONGEST - 100) for number in range(MOST // LONGEST + 1)}
    texts |= {"long.py": "x" * (LONGEST + 1), "last.py": "latin = 'é'\n"}
    writer = Writer(str(tmp_path / "run.jsonl"))
    writer.write("start", version=1)
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        writer.file(str(tmp_path / name))
        writer.file(str(tmp_path / name))
    (tmp_path / "binary.py").write_bytes(b"\xff")
    for name in ("binary.py", "none.py", "<cell 3>"):
        writer.file(str(tmp_path / name))
    writer.close()
    sources = {os.path.basename(path): one for path, one in read(str(tmp_path / "run.jsonl")).sources.items()}
    kept = {name for name, one in sources.items() if one.text is not None}
    assert kept == {*list(texts)[: MOST // LONGEST], "last.py"}
    assert sources["last.py"].text == texts["last.py"]
    assert sources["long.py"].digest == hashlib.sha256(texts["long.py"].encode()).hexdigest()
    assert set(sources) == {*texts, "binary.py"}
    assert (tmp_path / "run.jsonl").stat().st_size < MOST + 10_000


def test_a_cell_has_the_rows_that_the_notebook_gives_it(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook("md:# t", "x = 1\n%time y = 2"))
    assert source_file(str(path), Capture(), 1).rows == ("x = 1", "%time y = 2")
    assert source_file(str(path), Capture(), 2) == SourceFile(str(path), None, "The notebook has no such cell.")
