"""Settings of a hostile repository end in one line that names the file."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint.cli.main import main
from gpulint.linting.selection import MAX_MISSING
from gpulint.settings import SettingsFinder, loading
from gpulint.settings.toml import MAX_PARTS, parsed
from tests.processes import gpulint_within

DIGITS = "9" * 6_000
"""More than Python converts to a number."""


@pytest.mark.parametrize(
    "text",
    [
        f'target-tensorflow = "2.{DIGITS}"',
        f'required-version = ">={DIGITS}"',
        f'required-version = "~=1.{DIGITS}"',
        f"max-file-seconds = {DIGITS}",
        f"[lint]\nignore = [{DIGITS}]",
    ],
)
@pytest.mark.parametrize("command", ["check", "plan"])
def test_numbers_with_thousands_of_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, command: str
) -> None:
    (tmp_path / "gpulint.toml").write_text(f"{text}\n")
    (tmp_path / "train.py").write_text("import tensorflow as tf\n")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, [command, "train.py"])
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"gpulint: {tmp_path / 'gpulint.toml'}:") and len(line) < 500, line[:500]


def key(parts: int, other: str = "a") -> str:
    return ".".join(["a", other] * (parts // 2))


STRINGS = r"""x = '''"'''''
y = '\'
z = "'\""
'"' = "#" # '
"""

LONG_KEYS = {
    "keys": "".join(f"b{number}.{key(998)} = 1\n" for number in range(480)),
    "below a table": f"[{key(998)}]\n" + "".join(f"b{number}.{key(998)} = 1\n" for number in range(480)),
    "tables": "".join(f"[b{number}.{key(998)}]\n" for number in range(480)),
    "in an inline table": f"x = {{{key(400_000)} = 1}}\n",
    "with equals signs": f"{key(300_000, chr(39) + '=' + chr(39))} = 1\n",
    "with blanks": f"{key(100_000).replace('.', ' . ')} = 1\n",
    "behind strings": f"{STRINGS}{key(400_000)} = 1\n",
}


@pytest.mark.parametrize("name", LONG_KEYS)
def test_keys_of_many_parts_take_no_quadratic_time(name: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(LONG_KEYS[name])
    (tmp_path / "train.py").write_text("import tensorflow as tf\n")
    run = gpulint_within(2, "check", "--no-cache", ".", cwd=tmp_path)
    assert run.stderr == f"gpulint: {tmp_path / 'pyproject.toml'}: a key has more than {MAX_PARTS} parts\n"
    assert run.returncode == 2


@pytest.mark.parametrize("quotes", ["'", '"', "'''", '"""'])
def test_only_keys_count_as_keys(quotes: str) -> None:
    text = f"{key(1_000)} = 1"
    assert parsed(f"b = {quotes}{text}{quotes}  # {text}\n{key(MAX_PARTS)} = 1\n")["b"] == text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets few users make links")
def test_a_file_that_many_folders_link_to_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared").write_text('extend = "base.toml"\n[lint]\nignore = ["GPU101"]\n')
    (tmp_path / "base").write_text('target-tensorflow = "2.15"\n')
    read: list[str] = []

    def counted(path: str) -> bytes:
        read.append(path)
        return Path(path).read_bytes()

    monkeypatch.setattr(loading, "read_file", counted)
    finder = SettingsFinder()
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "gpulint.toml").symlink_to("../shared")
        os.link(tmp_path / "base", folder / "base.toml")
        settings = finder.of_directory(str(folder))
        assert settings.root == str(folder) and settings.source == str(folder / "gpulint.toml")
        assert settings.target_origin == str(folder / "base.toml") and settings.target_tensorflow == "2.15"
        assert settings.lint.ignore == ("GPU101",)
    assert len(read) == 2


@pytest.mark.parametrize("key", ["ignore", "unfixable"])
def test_of_thousands_of_codes_without_a_rule_some_are_listed(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To find the row of each of them takes quadratic time."""
    codes = ",\n".join(f'"{letter}AA{number:03}"' for letter in "ABCDE" for number in range(1000))
    (tmp_path / "gpulint.toml").write_text(f"[lint]\n{key} = [{codes}]\n")
    (tmp_path / "train.py").write_text("import tensorflow as tf\n")
    monkeypatch.chdir(tmp_path)
    began = time.process_time()
    done = CliRunner().invoke(main, ["check", "--no-cache"])
    assert time.process_time() - began < 10 and done.exit_code == 0, done.output
    assert done.stderr.count("nothing to turn off") == MAX_MISSING
    assert "gpulint.toml:2: lint." in done.stderr and "the others are not listed" in done.stderr
