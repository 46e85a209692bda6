"""Settings of a hostile repository end in one line that names the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint.cli.main import main

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
