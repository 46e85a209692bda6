"""A project that turns everything off gets a note: `All checks passed!` alone misleads whoever did not configure it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint.cli.main import main

PROGRAM = "import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n    x = tf.zeros(4)\n"
ALL_OFF = "all rules about programs are off in all files"
LEFT_OUT = "excluded by the settings or .gitignore, and there is no other file to check"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", "-n", "-j1", *arguments])


@pytest.mark.parametrize(
    "text",
    ["ignore = ['ALL']", "select = ['GPU001']", "ignore = ['GPU']", "per-file-ignores = {'*' = ['ALL']}"],
)
def test_rules(project: Path, text: str) -> None:
    (project / "gpulint.toml").write_text(f"[lint]\n{text}\n")
    done = check()
    assert done.exit_code == 0 and done.stderr == f"gpulint: {project / 'gpulint.toml'}: {ALL_OFF}\n", done.output


def test_rules_about_comments_say_nothing_of_programs(project: Path) -> None:
    (project / "train.py").write_text(PROGRAM + "y = 1  # gpulint: ignore[nonsense] said\n")
    (project / "gpulint.toml").write_text("[lint]\nselect = ['GPU003']\n")
    done = check()
    assert "GPU003" in done.stdout and done.stderr == f"gpulint: {project / 'gpulint.toml'}: {ALL_OFF}\n"


@pytest.mark.parametrize("words", ["GPU001", "GPU003,GPU001", "invalid-suppression"])
def test_whoever_asks_for_rules_about_files_only_gets_no_note(project: Path, words: str) -> None:
    assert check("--select", words).stderr == ""


@pytest.mark.parametrize("words", ["GPU001,GPU101", "ALL", "GPU"])
def test_the_project_turns_off_what_the_command_line_asks_for(project: Path, words: str) -> None:
    (project / "gpulint.toml").write_text("[lint.per-file-ignores]\n'*' = ['ALL']\n")
    assert check("--select", words).stderr == f"gpulint: {project / 'gpulint.toml'}: {ALL_OFF}\n"


@pytest.mark.parametrize(
    "text", ["ignore = ['GPU1']", "per-file-ignores = {'other.py' = ['ALL']}", "select = ['GPU2']"]
)
def test_some_rules(project: Path, text: str) -> None:
    (project / "gpulint.toml").write_text(f"[lint]\n{text}\n")
    assert check().stderr == ""


@pytest.mark.parametrize("text", ["exclude = ['**']", "extend-exclude = ['*.py']", "extend-exclude = ['/train.py']"])
def test_files(project: Path, text: str) -> None:
    (project / "gpulint.toml").write_text(f"force-exclude = true\n{text}\n")
    for arguments in ([], ["train.py"]):
        done = check(*arguments)
        assert done.exit_code == 0 and done.stderr == f"gpulint: train.py: ignored: {LEFT_OUT}\n", done.output


def test_gitignore(project: Path) -> None:
    (project / ".gitignore").write_text("*\n")
    assert check().stderr == f"gpulint: train.py: ignored: {LEFT_OUT}\n"


def test_a_folder_without_programs_excludes_nothing(project: Path) -> None:
    (project / "train.py").rename(project / "train.txt")
    (project / ".venv").mkdir()
    (project / ".gitignore").write_text("*.txt\n")
    assert check().stderr == ""
