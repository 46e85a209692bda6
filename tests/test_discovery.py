"""Which files are found."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest

from gpulint import discovery
from gpulint.discovery import MissingPath, discover, is_left_out
from gpulint.settings import Settings, SettingsFinder


def found(root: Path, *paths: str, **settings: object) -> list[str]:
    finder = SettingsFinder(Settings(root=str(root), **settings))  # type: ignore[arg-type]
    return [str(Path(path).relative_to(root)) for path in discover(paths or (str(root),), finder)]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a.py", "b.txt", "pkg/c.py", "pkg/deep/d.py", "build/e.py", ".venv/f.py", "ignored/g.py", "pkg/h.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("ignored/\nh.py\n")
    (tmp_path / "pkg" / ".gitignore").write_text("!h.py\n/deep\n")
    return tmp_path


def test_git_and_the_default_patterns_leave_files_out(tree: Path) -> None:
    assert found(tree) == ["a.py", "pkg/c.py", "pkg/h.py"]


def test_gitignore_can_be_disregarded(tree: Path) -> None:
    assert found(tree, respect_gitignore=False) == ["a.py", "ignored/g.py", "pkg/c.py", "pkg/deep/d.py", "pkg/h.py"]


def test_extend_exclude_adds_to_the_defaults(tree: Path) -> None:
    assert found(tree, extend_exclude=("pkg",)) == ["a.py"]


def test_a_named_file_is_checked_unless_exclusion_is_forced(tree: Path) -> None:
    named = str(tree / "build" / "e.py")
    assert found(tree, named) == ["build/e.py"]
    assert found(tree, named, force_exclude=True) == []


def test_an_excluded_directory_excludes_a_named_file_below_it_for_good(tree: Path) -> None:
    (tree / "ignored" / ".gitignore").write_text("!g.py\n")
    named = str(tree / "ignored" / "g.py")
    assert found(tree, named, force_exclude=True) == []
    assert is_left_out(named, SettingsFinder(Settings(root=str(tree))))
    assert found(tree, str(tree / "ignored")) == []


def test_a_repository_in_an_ignored_directory_has_its_own_rules(tree: Path) -> None:
    (tree / "ignored" / ".git").mkdir()
    assert found(tree) == ["a.py", "pkg/c.py", "pkg/h.py"]
    assert found(tree, str(tree / "ignored")) == ["ignored/g.py"]


def test_what_a_pattern_leaves_of_a_directory(tree: Path) -> None:
    (tree / ".gitignore").write_text("pkg/**\n!pkg/deep/\n!pkg/deep/d.py\n")
    (tree / "pkg" / ".gitignore").unlink()
    assert found(tree) == ["a.py", "ignored/g.py", "pkg/deep/d.py"]


def test_lines_of_a_gitignore_end_where_git_ends_them(tree: Path) -> None:
    (tree / ".gitignore").write_bytes("\ufeffa.py\r\nx\fpkg\u2028ignored\nignored\r\n".encode())
    (tree / "pkg" / ".gitignore").unlink()
    assert found(tree) == ["pkg/c.py", "pkg/deep/d.py", "pkg/h.py"]


def test_included_are_files_below_a_directory(tree: Path) -> None:
    (tree / "pkg" / "notes.txt").write_text("")
    assert found(tree, include=("pkg/",)) == ["pkg/.gitignore", "pkg/c.py", "pkg/h.py", "pkg/notes.txt"]


def test_directories_outside_the_root_of_the_settings(tree: Path) -> None:
    finder = SettingsFinder(
        Settings(root=str(tree / "pkg"), exclude=("tree", "build", "h.py"), include=("a.py", "/e.py"))
    )
    (tree / "build" / "a.py").write_text("")
    assert [os.path.basename(path) for path in discover([str(tree), str(tree / "build")], finder)] == ["a.py", "a.py"]


def test_a_directory_that_cannot_be_read_is_noted(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scandir(path: str) -> object:
        if os.path.basename(path) == "pkg":
            raise PermissionError(13, "Permission denied")
        return entries(path)

    entries = os.scandir
    monkeypatch.setattr(os, "scandir", scandir)
    finder = SettingsFinder(Settings(root=str(tree)))
    assert discover([str(tree)], finder) == [str(tree / "a.py")]
    assert finder.notes == [f"{tree / 'pkg'}: ignored: Permission denied"]


@pytest.mark.parametrize(
    "pattern",
    ["*", "**", "**/", "*/", "*/*", "**/*.py", "**/d.py", "pkg/**/*.py", "**/deep/**", "*/**/*", "**/**/h.py", ".*"]
    + [".*/*.py", "?kg/[a-c].py", "pkg/../*.py", "./pkg//*.py", "[!p]*/*", "nowhere/*", "**/nowhere", "empty/**"],
)
@pytest.mark.parametrize("is_absolute", [False, True])
def test_globs_find_what_pythons_glob_finds(
    tree: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, is_absolute: bool
) -> None:
    monkeypatch.chdir(tree)
    (tree / "empty").mkdir()
    pattern = str(tree / pattern) if is_absolute else pattern
    expected = {os.path.normpath(path) for path in glob.glob(pattern, recursive=True)}
    paths = [os.path.normpath(path) for path in discovery._glob(pattern)]
    assert set(paths) == expected
    assert len(paths) == len(expected)


def test_globs_are_expanded_and_missing_paths_reported(tree: Path) -> None:
    assert found(tree, str(tree / "*.py")) == ["a.py"]
    with pytest.raises(MissingPath):
        found(tree, str(tree / "nowhere.py"))


def test_a_loop_of_links_ends(tree: Path) -> None:
    (tree / "pkg" / "again").symlink_to(tree, target_is_directory=True)
    assert "pkg/c.py" in found(tree)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_left_out_and_a_link_that_leads_nowhere_is_not(tree: Path) -> None:
    os.mkfifo(tree / "pipe.py")
    (tree / "lost.py").symlink_to(tree / "nothing.py")
    assert found(tree) == ["a.py", "lost.py", "pkg/c.py", "pkg/h.py"]
