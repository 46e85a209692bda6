"""Overwriting a file: whatever happens, it has the old or the new text, and no other file is left."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest

from gpulint.sources.writing import NotWritten, replace_file

OLD, NEW = b"old\r\n", b"new\r\nlonger\r\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_bytes(OLD)
    return path


def test_the_new_text_is_there_and_nothing_beside_it(file: Path) -> None:
    replace_file(str(file), OLD, NEW)
    assert file.read_bytes() == NEW
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o4755])
def test_the_mode_stays(file: Path, mode: int) -> None:
    file.chmod(mode)
    replace_file(str(file), OLD, NEW)
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_link_stays_a_link_and_its_target_is_written(file: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "program.py"
    link.symlink_to(os.path.join("..", file.name))
    replace_file(str(link), OLD, NEW)
    assert link.is_symlink()
    assert file.read_bytes() == NEW
    assert os.listdir(link.parent) == [link.name]


def test_a_file_that_changed_since_is_left_alone(file: Path) -> None:
    file.write_bytes(b"somebody else's")
    with pytest.raises(NotWritten, match="changed since"):
        replace_file(str(file), OLD, NEW)
    assert file.read_bytes() == b"somebody else's"


def test_a_file_that_is_missing_is_not_made_again(file: Path) -> None:
    file.unlink()
    with pytest.raises(NotWritten, match="No such file"):
        replace_file(str(file), OLD, NEW)
    assert not file.exists()


def test_a_read_only_file_is_left_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.chmod(0o444)
    # root may write anything, so the test raises the error that other users would get
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(NotWritten, match="read-only"):
        replace_file(str(file), OLD, NEW)
    assert file.read_bytes() == OLD


def fails(code: int) -> Any:
    def fail(*arguments: Any, **options: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize(
    ("function", "code"),
    [("fsync", errno.ENOSPC), ("fsync", errno.EIO), ("replace", errno.EACCES), ("chmod", errno.EPERM)],
)
def test_when_a_call_fails_the_old_text_is_there_and_one_line_says_why(
    file: Path, monkeypatch: pytest.MonkeyPatch, function: str, code: int
) -> None:
    monkeypatch.setattr(os, function, fails(code))
    with pytest.raises(NotWritten) as raised:
        replace_file(str(file), OLD, NEW)
    monkeypatch.undo()
    assert os.strerror(code) in str(raised.value) and "\n" not in str(raised.value)
    assert file.read_bytes() == OLD
    assert os.listdir(file.parent) == [file.name]


def test_on_a_full_disk_the_old_text_is_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any, **options: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(NotWritten, match="No space left"):
        replace_file(str(file), OLD, NEW)
    assert file.read_bytes() == OLD


KILLED_AT = """
    import os, signal, sys
    import tempfile
    from gpulint.sources.writing import replace_file

    calls = 0

    def counted(function):
        def count(*arguments, **options):
            global calls
            calls += 1
            if calls == int(sys.argv[2]):
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)
        return count

    for name in ("fsync", "chmod", "chown", "replace", "open", "close", "unlink"):
        setattr(os, name, counted(getattr(os, name)))
    tempfile.mkstemp = counted(tempfile.mkstemp)
    replace_file(sys.argv[1], {old!r}, {new!r})
"""


def test_killed_between_any_two_calls_the_file_is_the_old_one_or_the_new_one(file: Path) -> None:
    script = textwrap.dedent(KILLED_AT).format(old=OLD, new=NEW)
    seen = set()
    for number in range(1, 20):
        file.write_bytes(OLD)
        done = subprocess.run([sys.executable, "-c", script, str(file), str(number)], check=False, capture_output=True)
        content = file.read_bytes()
        assert content in (OLD, NEW)
        seen.add(content)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.returncode == 0 and seen == {OLD, NEW}
