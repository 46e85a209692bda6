"""Configuration files: which one applies, and the errors for a wrong one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpulint.output.settings_text import shown
from gpulint.probe.measures import leaks, memory
from gpulint.settings import (
    LintSettings,
    ProbeSettings,
    Settings,
    SettingsError,
    SettingsFinder,
    load,
    parse_override,
)


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
    assert finder.of_file(str(tmp_path / "a.py")).lint.ignore == ("GPU1",)
    inner = finder.of_file(str(tmp_path / "inner" / "b.py"))
    assert (inner.lint.select, inner.lint.ignore, inner.target_tensorflow) == (
        ("GPU2",),
        (),
        Settings().target_tensorflow,
    )


def test_a_pyproject_without_the_table_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "gpulint.toml", 'target-tensorflow = "2.17"')
    write(tmp_path / "inner" / "pyproject.toml", "[project]\nname = 'x'")
    assert SettingsFinder().of_directory(str(tmp_path / "inner")).target_tensorflow == "2.17"


def test_extend_builds_on_another_file(tmp_path: Path) -> None:
    write(tmp_path / "base.toml", 'target-tensorflow = "2.18"\n[lint]\nignore = ["GPU101"]')
    path = write(tmp_path / "sub" / "gpulint.toml", 'extend = "../base.toml"\n[lint]\nignore = ["GPU102"]')
    settings = load(str(path))
    assert settings is not None
    assert (settings.target_tensorflow, settings.lint.ignore) == ("2.18", ("GPU102",))


def test_a_circle_of_extends_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "gpulint.toml", 'extend = "gpulint.toml"')
    with pytest.raises(SettingsError, match="forms a cycle"):
        load(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[lint]\nselct = []", r"gpulint\.toml:2: unknown key `lint\.selct`; did you mean `lint\.select`\?"),
        ("select = []", r"gpulint\.toml:1: unknown key `select`; did you mean `lint\.select`\?"),
        ("\nrespect-gitignore = 1", r"gpulint\.toml:2: `respect-gitignore` must be true or false, not 1"),
        ('target-tensorflow = "new"', r"gpulint\.toml:1: `target-tensorflow` must be a release of TensorFlow"),
        ("[lint.severity]\nGPU101 = 'loud'", r"must be a table of error, warning, info or off"),
        ("[lint\n", r"gpulint\.toml: "),
        ("lint = 3", r"gpulint\.toml:1: unknown key `lint`"),
        ("qwertyuiop = 1", r"gpulint\.toml:1: unknown key `qwertyuiop`; known keys: include, exclude"),
        ('[lint]\n\nselect = "GPU1"', r"gpulint\.toml:3: `lint\.select` must be a list of strings, not 'GPU1'"),
        ("include = [1]", r"gpulint\.toml:1: `include` must be a list of strings, not \[1\]"),
        ("output-format = 1", r"gpulint\.toml:1: `output-format` must be a string, not 1"),
        ("max-warnings = true", r"gpulint\.toml:1: `max-warnings` must be a whole number from 0 on, or -1, not True"),
        ("target-tensorflow = 2.16", r"gpulint\.toml:1: `target-tensorflow` must be a release of TensorFlow"),
        ("[lint]\nper-file-ignores = []", r"gpulint\.toml:2: `lint\.per-file-ignores` must be a table, not \[\]"),
        ("[lint.per-file-ignores]\n'a.py' = 'GPU1'", r"gpulint\.toml:1: .* must be a table of lists of strings"),
        ("[probe]\ntimeot = 3", r"gpulint\.toml:2: unknown key `probe\.timeot`; did you mean `probe\.timeout`\?"),
        ("[probe]\nexpect = 3", r"gpulint\.toml:2: `probe\.expect` must be a list of strings, or a table"),
        ("[probe]\nexpect = [3]", r"gpulint\.toml:2: `probe\.expect` must be a list of strings, or a table"),
        ("[probe]\nsteps = 1.5", r"gpulint\.toml:2: `probe\.steps` must be a whole number from 0 on, not 1\.5"),
        ("[probe]\ntimeout = -1", r"gpulint\.toml:2: `probe\.timeout` must be a number from 0 on, not -1"),
        ("[probe]\nleak = inf", r"gpulint\.toml:2: `probe\.leak` must be a number from 0 on, not inf"),
        ("[probe]\nwithout-gpu = 'pass'", r"gpulint\.toml:2: `probe\.without-gpu` must be `fail` or `skip`"),
        ("[probe.level]\nretrace = 'loud'", r"gpulint\.toml:1: `probe\.level` must be a table of error, warn or off"),
        ("probe = 3", r"gpulint\.toml:1: unknown key `probe`"),
        ("extend = 1", r"gpulint\.toml:1: `extend` must be a path"),
        ("extend = 'nowhere.toml'", r"nowhere\.toml: No such file"),
    ],
)
def test_a_wrong_file_is_named_with_line_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "gpulint.toml", text)
    with pytest.raises(SettingsError, match=message):
        load(str(path))


@pytest.mark.parametrize("text", ["[tool]\ngpulint = 3", "\ntool.gpulint = 'yes'"])
def test_a_tool_table_that_is_none_is_an_error(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "pyproject.toml", text)
    with pytest.raises(SettingsError, match=r"pyproject\.toml.*: `tool\.gpulint` must be a table"):
        load(str(path))


def test_a_pyproject_whose_tool_is_no_table_says_nothing_of_gpulint(tmp_path: Path) -> None:
    assert load(str(write(tmp_path / "pyproject.toml", "tool = 3"))) is None


def test_bytes_that_are_no_utf8_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "gpulint.toml").write_bytes(b"src = ['\xff']")
    with pytest.raises(SettingsError, match=r"gpulint\.toml: "):
        load(str(tmp_path / "gpulint.toml"))


def test_in_one_directory_the_dotted_file_comes_first_and_pyproject_last(tmp_path: Path) -> None:
    directory = str(tmp_path)
    write(tmp_path / "pyproject.toml", '[tool.gpulint]\ntarget-tensorflow = "2.16"')
    assert SettingsFinder().of_directory(directory).target_tensorflow == "2.16"
    write(tmp_path / "gpulint.toml", 'target-tensorflow = "2.17"')
    assert SettingsFinder().of_directory(directory).target_tensorflow == "2.17"
    write(tmp_path / ".gpulint.toml", 'target-tensorflow = "2.18"')
    assert SettingsFinder().of_directory(directory).target_tensorflow == "2.18"


def test_settings_know_the_directory_and_file_they_come_from(tmp_path: Path) -> None:
    write(tmp_path / "base" / "gpulint.toml", 'src = ["lib"]')
    path = write(tmp_path / "own" / "gpulint.toml", 'extend = "../base/gpulint.toml"')
    settings = load(str(path))
    assert settings is not None
    assert (settings.root, settings.source, settings.src) == (str(tmp_path / "own"), str(path), ("lib",))


def test_isolated_reads_no_file_and_a_fixed_file_serves_all(tmp_path: Path) -> None:
    write(tmp_path / "gpulint.toml", 'target-tensorflow = "2.17"')
    assert SettingsFinder(isolated=True).of_directory(str(tmp_path)).target_tensorflow == Settings().target_tensorflow
    fixed = Settings(target_tensorflow="2.19")
    assert SettingsFinder(fixed).of_directory(str(tmp_path)).target_tensorflow == "2.19"


def test_the_table_of_the_probe_is_read(tmp_path: Path) -> None:
    text = """[probe]
expect = ["ops.on_gpu >= 90%"]
timeout = 30
leak = 0.1
strict = true
without-gpu = "skip"
[probe.level]
retrace = "off"
"""
    settings = load(str(write(tmp_path / "gpulint.toml", text)))
    assert settings is not None
    assert settings.probe.expect == ("ops.on_gpu >= 90%",)
    assert (settings.probe.timeout, settings.probe.leak, settings.probe.strict) == (30, 0.1, True)
    assert (settings.probe.without_gpu, settings.probe.level) == ("skip", (("retrace", "off"),))
    assert settings.probe.hang_after == Settings().probe.hang_after


def test_expectations_may_be_a_table_by_metric(tmp_path: Path) -> None:
    text = '[probe.expect]\n"ops.on_gpu" = ">= 90%"\nsteps = "== 3"'
    settings = load(str(write(tmp_path / "gpulint.toml", text)))
    assert settings is not None
    assert settings.probe.expect == ("ops.on_gpu >= 90%", "steps == 3")


def test_a_key_that_another_tool_has_too_is_found_in_gpulints_table(tmp_path: Path) -> None:
    text = "[tool.other]\ntimeout = 3\n[tool.gpulint.probe]\ntimeout = 'long'"
    with pytest.raises(SettingsError, match=r"pyproject\.toml:4: `probe\.timeout` must be a number"):
        load(str(write(tmp_path / "pyproject.toml", text)))


def test_thresholds_are_by_default_those_of_the_detectors() -> None:
    settings = Settings()
    assert (settings.probe.leak, settings.probe.imbalance, settings.probe.headroom) == (
        leaks.LEAK,
        memory.UNEVEN,
        memory.TIGHT,
    )


def test_all_settings_are_shown_as_toml_that_can_be_read_back(tmp_path: Path) -> None:
    settings = Settings(
        lint=LintSettings(severity=(("GPU101", "off"),), per_file_ignores=(("a.py", ("GPU1",)),)),
        probe=ProbeSettings(expect=('traces["f"] == 1',), level=(("retrace", "off"),)),
    )
    path = write(tmp_path / "gpulint.toml", shown(settings))
    read = {"root": str(tmp_path), "source": str(path), "target_origin": str(path)}  # the file sets it
    assert load(str(path)) == replace(settings, **read)
    assert load(str(write(path, shown(Settings())))) == replace(Settings(), **read)


def test_an_unknown_key_of_an_override_is_said_with_the_nearest(tmp_path: Path) -> None:
    finder = SettingsFinder(overrides=(parse_override("lint.selct=['GPU2']"),))
    with pytest.raises(SettingsError, match=r"--config: unknown key `lint\.selct`; did you mean `lint\.select`\?"):
        finder.of_directory(str(tmp_path))


def test_overrides_stand_above_files(tmp_path: Path) -> None:
    write(tmp_path / "gpulint.toml", '[lint]\nselect = ["GPU1"]')
    finder = SettingsFinder(overrides=(parse_override("lint.select=['GPU2']"),))
    assert finder.of_directory(str(tmp_path)).lint.select == ("GPU2",)
    with pytest.raises(SettingsError):
        parse_override("lint.select=[")
