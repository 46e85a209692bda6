"""Which files are found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpulint.settings import Settings, SettingsFinder
from gpulint.sources.discovery import MissingPath, discover


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


def test_globs_are_expanded_and_missing_paths_said(tree: Path) -> None:
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
