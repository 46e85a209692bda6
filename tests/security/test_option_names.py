"""A file that is named like an option is no option: `gpulint check *` and pre-commit pass names without `--`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint.cli.main import main

PROGRAM = "import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n    x = tf.zeros(4)\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "lint").mkdir()
    (tmp_path / "lint" / "evil.py").write_text(f"open({str(tmp_path / 'marked')!r}, 'w').close()\n")
    (tmp_path / "gpulint.toml").write_text('rule-paths = ["lint"]\n')
    (tmp_path / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


@pytest.mark.parametrize("command", [["check"], ["check", "--force-exclude"], ["plan"], ["clean"]], ids=" ".join)
@pytest.mark.parametrize("name", ["--trust", "--output-file=train.py", "-otrain.py", "--config=evil.py", "-e"])
def test_it_is_refused(project: Path, command: list[str], name: str) -> None:
    path = project.joinpath(name)
    path.write_text(PROGRAM)
    before = {one: one.read_bytes() for one in project.iterdir() if one.is_file()}
    done = run(*command, *sorted(os.listdir(project)))
    assert (done.exit_code, done.stdout) == (2, "") and f"'{name}' is an option and a file here" in done.stderr
    assert {one: one.read_bytes() for one in project.iterdir() if one.is_file()} == before, "nothing ran or was written"


def test_a_link_to_nowhere_counts(project: Path) -> None:
    (project / "--trust").symlink_to("gone")
    assert run("check", "--trust", "train.py").exit_code == 2
    assert not (project / "marked").exists()


def test_after_two_dashes_and_as_a_path_it_is_a_file(project: Path) -> None:
    (project / "--trust.py").write_text(PROGRAM)
    for words in (["--", "--trust.py"], ["./--trust.py"]):
        done = run("check", "-n", *words)
        assert done.exit_code == 1 and "--trust.py:3:6" in done.stdout, done.output
    assert not (project / "marked").exists()


def test_words_of_a_program_are_its_own(project: Path) -> None:
    (project / "--epochs").write_text("")
    done = run("probe", "gone.py", "--epochs", "3")
    assert "gone.py: no such file" in done.stderr


def test_an_option_whose_name_no_file_has_is_one(project: Path) -> None:
    assert run("check", "-n", "--exit-zero", "train.py").exit_code == 0
