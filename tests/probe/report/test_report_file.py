"""A report is written completely, or the old file is kept."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gpulint.probe.report.file import check_writable, write


def test_a_file_is_replaced_with_its_mode_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write(str(path), "first")
    umask = os.umask(0o022)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    write(str(path), "sec\udcffond é")
    assert path.read_text(encoding="utf-8") == "sec\\udcffond é"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "report.html").symlink_to(tmp_path / "there" / "report.html")
    write(str(tmp_path / "report.html"), "text")
    assert (tmp_path / "report.html").is_symlink()
    assert (tmp_path / "there" / "report.html").read_text() == "text"


def test_a_pipe_is_written_to() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from gpulint.probe.report.file import write; write('/dev/stdout', 'text')"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "text"


def test_a_file_that_cannot_be_written_is_reported_before_and_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    for path in (tmp_path, tmp_path / "none" / "a.html", tmp_path / "file" / "a.html"):
        with pytest.raises(OSError):
            check_writable(str(path))
        with pytest.raises(OSError):
            write(str(path), "new")
    check_writable(str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]
