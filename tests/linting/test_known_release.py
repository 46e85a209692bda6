"""Names of a TensorFlow release are reported where the project names its release, each once per file."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint
from gpulint.linting.result import CheckResult
from gpulint.settings import LintSettings, Settings
from tests.checking import findings_of
from tests.cli.test_check import check

OLD = """import tensorflow as tf

for rate in (0.1, 0.2):
    optimizer = tf.keras.optimizers.Adam(lr=rate)
    optimizer = tf.keras.optimizers.Adam(lr=rate)  # gpulint: ignore[GPU901] kept for the old cluster

with tf.device("gpu0"):
    optimizer = tf.keras.optimizers.Adam(
        lr=0.3,
    )
"""


def checked(directory: Path, lint: LintSettings | None = None) -> CheckResult:
    (directory / "train.py").write_text(OLD, encoding="utf-8")
    settings = Settings(root=str(directory), lint=lint) if lint is not None else None
    return gpulint.check_paths([directory / "train.py"], settings=settings)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gpulint.toml", 'target-tensorflow = "2.21"'),
        ("requirements.txt", "tensorflow==2.21"),
        ("requirements.txt", "tensorflow<2.18"),
        ("poetry.lock", '[[package]]\nname = "tensorflow"\nversion = "2.18.0"\n'),
        ("Dockerfile", "FROM tensorflow/tensorflow:2.17.0-gpu\n"),
    ],
)
def test_a_known_release(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    result = checked(tmp_path)
    removed = [one for one in findings_of(result) if one.code == "GPU901"]
    assert [(one.span.row, [place.span.row for place in one.related]) for one in removed] == [(4, [9])]
    assert [one.finding.span.row for one in result.suppressed] == [5]
    assert not result.withheld


@pytest.mark.parametrize("text", ["", "tensorflow", "tensorflow>=2.3"])
def test_a_release_that_nobody_names(text: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(text, encoding="utf-8")
    result = checked(tmp_path)
    assert [one.code for one in findings_of(result)] == ["GPU103"]
    assert result.withheld == {"GPU901": 1}


@pytest.mark.parametrize("words", [("GPU901",), ("GPU9",), ("ALL",), ("removed-api",)])
def test_a_rule_that_is_named(words: tuple[str, ...], tmp_path: Path) -> None:
    result = checked(tmp_path, LintSettings(extend_select=words, ignore=("GPU002",)))
    assert {one.code for one in findings_of(result)} == {"GPU103", "GPU901"}
    assert not result.withheld


def test_a_comment_for_a_name_that_is_not_reported_is_not_unused(tmp_path: Path) -> None:
    result = checked(tmp_path, LintSettings(extend_select=("GPU002",)))
    assert [one.code for one in findings_of(result)] == ["GPU103"]


def test_the_last_line_says_how_many_are_not_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(OLD, encoding="utf-8")
    last = (
        "1 finding of GPU901 is not shown: it depends on the TensorFlow release, and the project pins none "
        "(`--extend-select GPU901` shows it)."
    )
    for _ in range(2):  # the second result is a cached one
        assert check("--output-format", "concise").stdout.splitlines()[-1] == last
    assert "GPU901" in check("--target-tensorflow", "2.21").stdout
    assert "GPU901" not in check("--target-tensorflow", "2.10").stdout


def test_the_last_lines_say_that_pins_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(OLD, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("tensorflow==2.10\n", encoding="utf-8")
    out = check("--isolated").stdout
    said = "`--isolated` ignores the project's configuration and pins"
    assert f"Checked for TensorFlow 2.21 (the newest known: {said})" in out
    assert f"the TensorFlow release, and {said} (`--extend" in out
    assert "isolated" not in check("--isolated", "--target-tensorflow", "2.21").stdout
    assert "isolated" not in check().stdout


def test_all_places_are_fixed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(OLD, encoding="utf-8")
    assert "1 fixed" in check("--fix", "--select", "GPU901").stdout
    assert (tmp_path / "train.py").read_text(encoding="utf-8").count("learning_rate=") == 2
