"""Settings of a hostile repository end in one line that names the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint.cli.main import main
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
