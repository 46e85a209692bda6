"""Pipes, devices and endless files: the check neither waits for them nor keeps them in memory, and checks the other
files."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("Windows has no such files", allow_module_level=True)
import resource

from gpulint.sources.reading import read_file
from tests import warm

PROGRAM = 'import tensorflow as tf\nimport helper\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'
MEMORY = 4 << 30
"""Limit of a command's address space in bytes."""


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def terabyte(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)


def directory(path: Path) -> None:
    path.mkdir()


def circle(path: Path) -> None:
    path.symlink_to(path.name)


def unix_socket(path: Path) -> None:
    before = os.getcwd()
    os.chdir(path.parent)  # the name of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(before)


KINDS: list[Callable[[Path], None]] = [pipe, endless, link_to_pipe, terabyte, directory, circle, unix_socket]
DESCRIBING = [
    ".gitignore", "README.md", "requirements.txt", "pyproject.toml", "setup.cfg", "setup.py", "Dockerfile",
    "environment.yml", "gpulint.toml", "compose.yaml", ".git/info/exclude",
]  # fmt: skip


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpulint", *arguments]
    return warm.gpulint().run(command, cwd=project, limits=[(resource.RLIMIT_AS, MEMORY)])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize("make", KINDS, ids=lambda kind: kind.__name__)
def test_files_that_describe_a_project(project: Path, make: Callable[[Path], None]) -> None:
    for name in DESCRIBING:
        if name.endswith(".toml") and make is terabyte:
            continue
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
        if (aside := project / "pipe").exists():
            aside.rename(project / f"pipe of {path.name}")
            path.unlink()
            path.symlink_to(project / f"pipe of {path.name}")
    done = run(project, "check", "-n")
    assert done.returncode == 1 and "GPU101" in done.stdout, done.stderr
    assert "Traceback" not in done.stderr
    assert (".gitignore: ignored: " in done.stderr) == (make is not directory)


@pytest.mark.parametrize("name", ["gpulint.toml", "pyproject.toml", "base.toml"])
def test_a_configuration_that_is_too_large_is_refused_in_one_line(project: Path, name: str) -> None:
    terabyte(project / name)
    if name == "base.toml":
        (project / "gpulint.toml").write_text("extend = 'base.toml'\n")
    done = run(project, "check", "-n")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"{name}: larger than 1 MB" in done.stderr


@pytest.mark.parametrize("make", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", ["helper.py", "z.ipynb"])
def test_files_that_are_checked(project: Path, name: str, make: Callable[[Path], None]) -> None:
    make(project / name)
    if make is directory:
        (project / name / "__init__.py").write_text("")
    for arguments in (["check", "--fix", "-n"], ["check", "-n", name, "train.py"]):
        done = run(project, *arguments)
        assert done.returncode == 1 and "Traceback" not in done.stderr
        assert "GPU101" in done.stdout
        if make is not directory and name in arguments:
            (line,) = [one for one in done.stdout.splitlines() if one.startswith("error[GPU001]")]
            assert "cannot be read: " in line
    done = run(project, "plan", name)
    assert (done.returncode, done.stderr.count("\n")) == ((0, 0) if make is directory else (2, 1)), done.stderr


def test_the_largest_file_is_a_setting(project: Path) -> None:
    (project / "large.py").write_text("x = 1  # " + "x" * 2_000_000 + "\n")
    assert "GPU001" not in run(project, "check", "-n").stdout
    done = run(project, "check", "-n", "--config", "max-file-size=1")
    assert "large.py" in done.stdout and "larger than 1 MB (`max-file-size`)" in done.stdout


@pytest.mark.parametrize("make", [pipe, endless, terabyte, directory, circle], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("option", ["--baseline", "--config"])
def test_files_that_options_name(project: Path, option: str, make: Callable[[Path], None]) -> None:
    make(project / "named")
    done = run(project, "check", "-n", option, "named")
    assert done.returncode == 2 and "Traceback" not in done.stderr and "named" in done.stderr


def test_a_pipe_that_takes_the_place_of_a_file_does_not_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "swapped"
    path.write_text("text")
    real = os.open

    def swap(name: object, flags: int, *more: int) -> int:
        path.unlink()
        os.mkfifo(path)
        return real(path, flags, *more)

    monkeypatch.setattr(os, "open", swap)
    with pytest.raises(OSError, match="not a regular file"):
        read_file(path)


def test_a_regular_file_that_waits_for_content_does_not_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As /proc/kmsg and trace_pipe, which only root can read."""
    waiting = tmp_path / "pipe"
    os.mkfifo(waiting)
    writer = os.open(waiting, os.O_RDWR)
    (tmp_path / "file").write_text("text")
    real, status = os.open, os.stat(tmp_path / "file")
    monkeypatch.setattr(os, "open", lambda name, flags: real(waiting, flags))
    monkeypatch.setattr(os, "fstat", lambda handle: status)
    with pytest.raises(OSError, match="no content yet"):
        read_file(tmp_path / "file")
    monkeypatch.undo()
    os.close(writer)
