"""What the documentation says that a command prints, it prints. A line `…` stands for any lines."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from gpulint.cli.main import main

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FIRST_PROGRAM = re.compile(r"^This is `train\.py`.*?```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Shown(NamedTuple):
    """A command and the output that a page shows of it."""

    page: str
    command: str
    output: str


def shown() -> list[Shown]:
    """Commands that print the same on every machine: not those that run programs or look at the machine."""
    demo = re.search(r"^demo:.*\n\t@\$\(BIN\)/(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert demo is not None
    found = []
    for page in PAGES:
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
                command = demo[1] if command == "make demo" else command
                if output and command.startswith(("gpulint check ", "gpulint plan ")):
                    found.append(Shown(page.name, command, output))
    return found


SHOWN = shown()


@pytest.mark.parametrize("one", SHOWN, ids=lambda one: f"{one.page}: {one.command}")
def test_a_command_prints_what_the_page_shows(one: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = FIRST_PROGRAM.search((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    assert program is not None
    (tmp_path / "train.py").write_text(program[1])
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(main, shlex.split(one.command)[1:])
    assert re.fullmatch(_pattern(one.output), ran.output), ran.output


def _pattern(output: str) -> str:
    return "".join(r"(?:.*\n)*" if line == "…" else re.escape(line) + "\n" for line in output.splitlines())


def test_the_pages_show_commands() -> None:
    assert {one.page for one in SHOWN} >= {
        "README.md",
        "index.md",
        "findings.md",
        "plan.md",
        "fixes.md",
        "notebooks.md",
    }
