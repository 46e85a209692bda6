"""Configuration files: which one counts, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.settings import Settings, SettingsError, SettingsFinder, load, parse_override


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_nearest_file_wins_alone(tmp_path: Path) -> None:
    write(
        tmp_path / "pyproject.toml",
        '[tool.gpulint]\ntarget-tensorflow = "2.16"\n[tool.gpulint.lint]\nignore = ["GPU1"]',
    )
    write(tmp_path / "inner" / "gpulint.toml", '[lint]\nselect = ["GPU2"]')
    finder = SettingsFinder()
    assert finder.of_file(str(tmp_path / "a.py")).ignore == ("GPU1",)
    inner = finder.of_file(str(tmp_path / "inner" / "b.py"))
    assert (inner.select, inner.ignore, inner.target_tensorflow) == (("GPU2",), (), Settings().target_tensorflow)


def test_a_pyproject_without_the_table_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "gpulint.toml", 'target-tensorflow = "2.17"')
    write(tmp_path / "inner" / "pyproject.toml", "[project]\nname = 'x'")
    assert SettingsFinder().of_directory(str(tmp_path / "inner")).target_tensorflow == "2.17"


def test_extend_builds_on_another_file(tmp_path: Path) -> None:
    write(tmp_path / "base.toml", 'target-tensorflow = "2.18"\n[lint]\nignore = ["GPU101"]')
    path = write(tmp_path / "sub" / "gpulint.toml", 'extend = "../base.toml"\n[lint]\nignore = ["GPU102"]')
    settings = load(str(path))
    assert settings is not None
    assert (settings.target_tensorflow, settings.ignore) == ("2.18", ("GPU102",))


def test_a_circle_of_extends_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "gpulint.toml", 'extend = "gpulint.toml"')
    with pytest.raises(SettingsError, match="round in a circle"):
        load(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[lint]\nselct = []", r"gpulint\.toml:2: unknown key `lint\.selct`; did you mean `lint\.select`\?"),
        ("select = []", r"gpulint\.toml:1: unknown key `select`; did you mean `lint\.select`\?"),
        ("\nrespect-gitignore = 1", r"gpulint\.toml:2: `respect-gitignore` must be true or false, not 1"),
        ('target-tensorflow = "new"', r"gpulint\.toml:1: `target-tensorflow` must be a version"),
        ("[lint.severity]\nGPU101 = 'loud'", r"must be a table of error, warning, info or off"),
        ("[lint\n", r"gpulint\.toml: "),
    ],
)
def test_a_wrong_file_is_named_with_line_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "gpulint.toml", text)
    with pytest.raises(SettingsError, match=message):
        load(str(path))


def test_overrides_stand_above_files(tmp_path: Path) -> None:
    write(tmp_path / "gpulint.toml", '[lint]\nselect = ["GPU1"]')
    finder = SettingsFinder(overrides=(parse_override("lint.select=['GPU2']"),))
    assert finder.of_directory(str(tmp_path)).select == ("GPU2",)
    with pytest.raises(SettingsError):
        parse_override("lint.select=[")
