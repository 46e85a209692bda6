"""Commands print what the documentation shows. A line `…` matches any lines."""

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
FILE = re.compile(r"`([\w/]+\.(?:py|toml))`[^`]*\n\n```(?:python|toml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
"""A file that a page shows; the sentence before it has its name."""


class Shown(NamedTuple):
    """A command, with the output that a page shows."""

    page: Path
    command: str
    output: str


def shown() -> list[Shown]:
    """Commands with the same output on every machine: not those that run programs or examine the machine."""
    demo = re.search(r"^demo:.*\n\t@\$\(BIN\)/(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert demo is not None
    found = []
    for page in PAGES:
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
                command = demo[1] if command == "make demo" else command
                if output and command.startswith(("gpulint check ", "gpulint plan ")):
                    found.append(Shown(page, command, output))
    return found


SHOWN = shown()


@pytest.mark.parametrize("one", SHOWN, ids=lambda one: f"{one.page.name}: {one.command}")
def test_a_command_prints_what_the_page_shows(one: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for page in (ROOT / "docs" / "index.md", one.page):
        for name, text in FILE.findall(page.read_text(encoding="utf-8")):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(main, shlex.split(one.command)[1:])
    assert re.fullmatch(_pattern(one.output), ran.output), ran.output


def _pattern(output: str) -> str:
    return "".join(r"(?:.*\n)*" if line == "…" else re.escape(line) + "\n" for line in output.splitlines())


def test_the_pages_show_commands() -> None:
    pages = {one.page.name for one in SHOWN}
    assert pages >= {"README.md", "index.md", "findings.md", "fixes.md", "notebooks.md", "plan.md", "writing-a-rule.md"}
