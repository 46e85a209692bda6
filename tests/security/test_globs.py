"""No pattern, tree or link of a repository makes the search for files slow or endless, or lead out of the
repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import gpulint_within

LONG_NAME = "a" * 250 + ".py"
PATTERNS = [
    "*a" * 60 + "*b",
    "?*" * 60 + "b",
    "[a-z]*" * 60 + "[!a-z]b",
    "a*" * 60 + "/" + "*a" * 60 + "b",
    "*" * 2_000 + "b",
    "**/a/" * 30 + "**/b",
    "**/*/" * 30 + "**/b",
    "/**/*a" * 30 + "b",
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a long name and nested folders, beside a home directory."""
    (tmp_path / "home" / "work").mkdir(parents=True)
    (tmp_path / "home" / "work" / "private.py").write_text("")
    project = tmp_path / "project"
    deep = project.joinpath(*["a"] * 60)
    deep.mkdir(parents=True)
    (deep / "deep.py").write_text("")
    (project / LONG_NAME).write_text("import tensorflow as tf\n")
    (project / ".git" / "info").mkdir(parents=True)
    return project


def check(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return gpulint_within(30, "check", *arguments, cwd=project)


def files(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return [os.path.basename(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("pattern", PATTERNS, ids=range(len(PATTERNS)))
def test_a_pattern_of_git(project: Path, pattern: str) -> None:
    for path in (".gitignore", ".git/info/exclude"):
        (project / path).write_text(f"{pattern}\n!{pattern}\n")
    done = check(project, "--show-files")
    assert files(done) == ["deep.py", LONG_NAME]
    assert done.stderr == ""


@pytest.mark.parametrize("pattern", PATTERNS, ids=range(len(PATTERNS)))
def test_a_pattern_of_the_settings(project: Path, pattern: str) -> None:
    (project / "gpulint.toml").write_text(
        f"include = ['{pattern}', '*.py']\nexclude = ['{pattern}']\nextend-exclude = ['{pattern}/']\n"
        f"[lint.per-file-ignores]\n'{pattern}' = ['GPU101']\n"
    )
    assert files(check(project, "--show-files")) == ["deep.py", LONG_NAME]
    assert check(project, "--no-cache").returncode == 0


def test_a_megabyte_of_names_is_looked_up(project: Path) -> None:
    (project / ".gitignore").write_text("".join(f"name{number}\n" for number in range(80_000)) + "deep.py\n")
    for number in range(1_000):
        (project / f"file{number}.py").write_text("")
    assert len(files(check(project, "--show-files"))) == 1_001


def test_a_megabyte_of_wildcards_is_ignored_with_a_note(project: Path) -> None:
    (project / ".gitignore").write_text("".join(f"?{number}*\n" for number in range(100_000)) + "*.py\n")
    done = check(project, "--show-files")
    assert files(done) == ["deep.py", LONG_NAME]
    assert ".gitignore: ignored: patterns with wildcards have more than 10,000 characters" in done.stderr


def test_wildcards_add_up_over_the_folders_above(project: Path) -> None:
    directory = project
    for name in ("a", "a", "a"):
        (directory / ".gitignore").write_text("".join(f"?{number:04}*\n" for number in range(600)))
        directory /= name
    assert check(project, "--show-files").stderr.count("ignored: patterns with wildcards") == 1


def test_ignore_files_of_every_folder(project: Path) -> None:
    directory = project
    for _ in range(30):
        (directory / ".gitignore").write_text("build\n")
        directory /= "a"
        directory.mkdir(exist_ok=True)
    assert check(project, "--show-files").stderr.count("ignored: there are 20 such files above it") == 10


@pytest.mark.parametrize("key", ["exclude", "include", "lint.per-file-ignores"])
def test_a_megabyte_of_wildcards_in_the_settings_is_an_error(project: Path, key: str) -> None:
    patterns = [f"?{number}*" for number in range(50_000)]
    value = "{" + ", ".join(f"'{pattern}' = []" for pattern in patterns) + "}" if "lint" in key else str(patterns)
    (project / "gpulint.toml").write_text(f"{key} = {value}\n")
    done = check(project, "--no-cache")
    assert done.returncode == 2
    assert f"{key.removeprefix('lint.')}: patterns with wildcards have more than 10,000 characters" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
class TestLinks:
    @pytest.mark.parametrize("pattern", ["**/*.py", "**", "**/**/**/*.py", "*/*/*/*/*/*/top.py", "*/**/*/**/top.py"])
    def test_links_to_their_own_folder(self, project: Path, pattern: str) -> None:
        shutil.rmtree(project / "a")
        (project / "top.py").write_text("")
        for number in range(30):
            (project / f"link{number}").symlink_to(".")
        assert "top.py" in files(check(project, "--show-files", pattern))
        assert files(check(project, "--show-files")) == [LONG_NAME, "top.py"]

    def test_a_link_that_leaves_the_repository(self, project: Path) -> None:
        (project / "linked").symlink_to("../home", target_is_directory=True)
        (project / "disk").symlink_to("/", target_is_directory=True)
        done = check(project, "--show-files")
        assert files(done) == ["deep.py", LONG_NAME]
        assert "linked: ignored: a link to a directory outside the search; name it to check it" in done.stderr
        assert files(check(project, "--show-files", "**/*.py")) == ["deep.py", LONG_NAME]
        assert files(check(project, "--show-files", "linked")) == ["private.py"]

    def test_a_link_to_itself(self, project: Path) -> None:
        (project / "loop.py").symlink_to("loop.py")
        assert files(check(project, "--show-files")) == ["deep.py", LONG_NAME, "loop.py"]


@pytest.mark.skipif(sys.platform == "win32", reason="paths are short on Windows")
@pytest.mark.parametrize("path", [".", "**/deepest.py"])
def test_a_thousand_folders_in_each_other(project: Path, path: str) -> None:
    (project / ".gitignore").write_text("**/a/" * 30 + "**/b\n")
    descriptor = os.open(project, os.O_RDONLY)
    for _ in range(1_000):
        try:
            os.mkdir("a", dir_fd=descriptor)
        except FileExistsError:
            pass
        below = os.open("a", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(os.open("deepest.py", os.O_CREAT, dir_fd=descriptor))
    os.close(descriptor)
    try:
        assert "deepest.py" in files(check(project, "--show-files", path))
    finally:
        subprocess.run(["rm", "-rf", project / "a"], check=True)  # shutil and pytest would reach the recursion limit


@pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")
def test_names_that_are_no_text(project: Path) -> None:
    os.mkdir(os.fsencode(project) + b"/\xff\n")
    with open(os.fsencode(project) + b"/\xff\n/\xfe\x1b[2J.py", "w"):
        pass
    (project / ".gitignore").write_bytes(b"\xff*\xfd\n[\xfe-\xff]\n")
    done = check(project, "--show-files")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3 and "\x1b" not in done.stdout
