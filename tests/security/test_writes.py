"""`check` writes only into the project: neither links nor settings of the repository lead out of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint.cli import fixes
from gpulint.cli.main import main
from gpulint.cli.writable import WritableFiles
from gpulint.fixing.rounds import Fixed
from gpulint.sources.writing import NotWritten, replace_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows lets few users make links")

NUMBER = 'import os\nimport tensorflow as tf\n\nos.environ["CUDA_VISIBLE_DEVICES"] = 0\n'
TEXT = NUMBER.replace("= 0", '= "0"')
IGNORED = NUMBER.replace("= 0", "= 0  # gpulint: ignore[GPU304] later")
OUTSIDE = "is a link to a file outside the project; left as it is"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, the working directory, beside a home directory."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "train.py").write_text(NUMBER)
    (home / "bin" / "train.py").write_text(NUMBER)
    (home / ".bashrc").write_text("umask 077\n")
    (home / "known.json").write_text('{\n  "version": 1,\n  "findings": []\n}\n')
    project = tmp_path / "project"
    project.mkdir()
    (project / "own.py").write_text(NUMBER)
    monkeypatch.chdir(project)
    return project


def contents(directory: Path) -> Mapping[str, object]:
    return {str(path): path.read_bytes() if path.is_file() else "" for path in sorted(directory.rglob("*"))}


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", "--no-cache", "--select", "GPU304", *arguments])


# ------------------------------------------------------------------------ fixes and comments


@pytest.mark.parametrize("link", ["file", "folder", "chain"])
@pytest.mark.parametrize(("option", "written"), [("--fix", TEXT), ("--add-ignore=later", IGNORED), ("", TEXT)])
def test_a_link_out_of_the_project_is_not_written_through(
    project: Path, link: str, option: str, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = project.parent / "home"
    if link == "file":
        (project / "linked.py").symlink_to("../home/train.py")
    elif link == "folder":
        (project / "linked").symlink_to("../home/bin")
    else:
        (project / "linked.py").symlink_to("again.py")
        (project / "again.py").symlink_to(home / "train.py")
    if not option:
        (project / "gpulint.toml").write_text("fix = true\n")
        monkeypatch.setenv("GPULINT_TRUST", str(project))
    before = contents(home)
    done = check(*filter(None, [option]))
    assert contents(home) == before
    assert (project / "own.py").read_text() == written
    if link == "folder":
        assert "a link to a directory outside the search" in done.stderr
    else:
        assert done.stderr.count(OUTSIDE) == (2 if link == "chain" else 1) and done.exit_code == 1, done.output


@pytest.mark.parametrize("settings", ["", "[lint]\n"])
@pytest.mark.parametrize("start", ["project", "parent", "elsewhere"])
@pytest.mark.parametrize("name", ["", "linked.py"])
def test_it_does_not_matter_how_the_project_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch, settings: str, start: str, name: str
) -> None:
    home = project.parent / "home"
    (project / "linked.py").symlink_to("../home/train.py")
    if settings:
        (project / "gpulint.toml").write_text(settings)
    named: str | Path = project / name
    if start == "parent":
        monkeypatch.chdir(project.parent)
        named = os.path.join("project", name)
    elif start == "elsewhere":
        (project.parent / "elsewhere").mkdir()
        monkeypatch.chdir(project.parent / "elsewhere")
    before = contents(home)
    done = check("--fix", str(named))
    assert contents(home) == before and done.stderr.count(OUTSIDE) == 1, done.output


@pytest.mark.parametrize("settings", ["", "own", "home"])
@pytest.mark.parametrize("named", ["linked", "linked/train.py", "{}/linked"])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_linked_folder_is_outside_even_if_it_is_named_or_has_settings(
    project: Path, monkeypatch: pytest.MonkeyPatch, settings: str, named: str, elsewhere: bool
) -> None:
    home = project.parent / "home"
    (project / "linked").symlink_to("../home/bin")
    if settings:
        ((project if settings == "own" else home / "bin") / "gpulint.toml").write_text("")
    before = contents(home)
    if elsewhere and settings != "home":
        (project.parent / "elsewhere").mkdir()
        monkeypatch.chdir(project.parent / "elsewhere")
        named = "{}/linked"
    done = check("--fix", named.format(project))
    assert contents(home) == before and done.stderr.count(OUTSIDE) == 1, done.output


def test_a_link_within_the_project_is_followed(project: Path) -> None:
    (project / "sub").mkdir()
    (project / "sub" / "linked.py").symlink_to("../own.py")
    assert check("--fix", "sub").exit_code == 1  # without settings, the named folder is the project
    (project / "gpulint.toml").write_text("")
    assert check("--fix", "sub").exit_code == 0
    assert (project / "own.py").read_text() == TEXT and (project / "sub" / "linked.py").is_symlink()


def test_a_file_outside_that_is_named_and_no_link_is_fixed(project: Path) -> None:
    assert check("--fix", "../home/train.py").exit_code == 0
    assert (project.parent / "home" / "train.py").read_text() == TEXT


def test_a_file_that_became_a_link_after_it_was_checked_is_left_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = fixes.write

    def swapped(outcome: Fixed, of: WritableFiles) -> Fixed:
        (project / "other").write_text(NUMBER)
        (project / "own.py").unlink()
        (project / "own.py").symlink_to("other")
        return write(outcome, of)

    monkeypatch.setattr(fixes, "write", swapped)
    done = check("--fix", "own.py")
    assert "own.py: changed since it was checked; left as it is" in done.stderr
    assert (project / "own.py").is_symlink() and (project / "other").read_text() == NUMBER


def test_another_name_of_a_file_keeps_its_content(project: Path) -> None:
    home = project.parent / "home"
    os.link(home / "train.py", project / "linked.py")
    before = contents(home)
    check("--fix")
    assert contents(home) == before and (project / "linked.py").read_text() == TEXT


# ---------------------------------------------------------------------- baselines and reports


@pytest.mark.parametrize("option", ["--write-baseline", "--prune-baseline"])
@pytest.mark.parametrize("target", ["known.json", "new.json", ".bashrc"])
@pytest.mark.parametrize("by", ["settings", "link", "link in settings", "folder"])
def test_a_baseline_outside_is_not_written(project: Path, by: str, target: str, option: str) -> None:
    home = project.parent / "home"
    (project / "base.json").symlink_to(home / target)
    (project / "folder").symlink_to(home)
    settings = {"settings": f"../home/{target}", "link in settings": "base.json", "folder": f"folder/{target}"}
    if by in settings:
        (project / "gpulint.toml").write_text(f"baseline = '{settings[by]}'\n")
    named = [] if by in settings else ["--baseline", "base.json"]
    before = contents(home)
    done = check(option, *named)
    assert contents(home) == before
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1) and "outside" in done.stderr, done.output


def test_a_baseline_that_the_user_names_elsewhere_is_written(project: Path) -> None:
    assert check("--write-baseline", "--baseline", "../home/known.json").exit_code == 0
    assert "GPU304" in (project.parent / "home" / "known.json").read_text()


@pytest.mark.parametrize("named", ["report.json", "folder/.bashrc", "folder/new.json", "../project/report.json"])
def test_a_report_is_not_written_through_a_link(project: Path, named: str) -> None:
    home = project.parent / "home"
    (project / "report.json").symlink_to("../home/.bashrc")
    (project / "folder").symlink_to("../home")
    before = contents(home)
    done = check("--output-format", "json", "--output-file", named)
    assert contents(home) == before and (done.exit_code, done.stderr.count("\n")) == (2, 1), done.output


def test_reports_go_to_new_files_old_ones_and_devices(project: Path) -> None:
    for _ in range(2):
        assert check("--output-format", "json", "-o", "report.json").exit_code == 1
        assert check("-o", "../report.txt").exit_code == 1
    assert '"GPU304"' in (project / "report.json").read_text()
    assert "GPU304" in (project.parent / "report.txt").read_text()
    assert check("-o", "/dev/null").exit_code == 1
    os.mkfifo(project / "pipe")
    assert check("-o", "pipe").stderr == "gpulint: pipe: is not a regular file; left as it is\n"


# --------------------------------------------------------------------------- the last moment


def test_what_is_written_while_the_new_text_is_flushed_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"old")
    flush = os.fsync

    def meanwhile(handle: int) -> None:
        flush(handle)
        file.write_bytes(b"somebody else's")

    monkeypatch.setattr(os, "fsync", meanwhile)
    with pytest.raises(NotWritten, match="changed since"):
        replace_file(str(file), b"old", b"new")
    assert file.read_bytes() == b"somebody else's" and os.listdir(tmp_path) == ["a.py"]


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_only_regular_files_are_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.py"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/null")
    for before in (b"", None):
        with pytest.raises(NotWritten):
            replace_file(str(path), before, b"new")
    assert os.listdir(tmp_path) == ["a.py"] and not path.is_file()


@pytest.mark.parametrize("path", ["", "a\0.py", "x" * 300 + ".py", "no/where.py", "\udcff/\ud800.py"])
def test_a_name_that_no_file_has_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotWritten) as raised:
        replace_file(path, b"old", b"new", str(tmp_path))
    assert "\n" not in str(raised.value) and os.listdir(tmp_path) == []
