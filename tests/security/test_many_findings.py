"""Files with thousands of findings: the cost of writing, applying and printing their fixes grows linearly."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpulint.fixing.rounds import MAX_TRIES
from gpulint.linting.engine import Checker
from gpulint.rewriting.draft import EDIT_SIZE, MAX_WRITTEN
from gpulint.settings import LintSettings, Settings, SettingsFinder
from gpulint.sources.source import Source
from tests.checking import findings_of
from tests.fixing.fixing import CATALOGUE
from tests.fixing.test_rounds import Play, becomes, played
from tests.notebooks import notebook
from tests.processes import gpulint_within, run_within

HANG = 75
"""Limit of processor time in seconds: a check with linear cost takes a few, any other more than this."""

IMPORT = "import tensorflow as tf\n"


def pinned(number: int) -> str:
    return f'with tf.device("/gpu:0"):\n    x{number} = tf.zeros(4)\n'


def outside(number: int) -> str:
    return (
        f"model{number} = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        f'with strategy.scope():\n    model{number}.compile("adam", "mse")\n'
    )


def unused(number: int) -> str:
    return f"y{number} = 1  # gpulint: ignore[GPU101] no\n"


def block(text: str, quote: str = "") -> str:
    return "".join(f"{quote}{row}\n" for row in f"```python\n{text}```".split("\n")) + "\n"


def function(text: str) -> str:
    return "def main():\n" + "".join(f"    {row}\n" for row in text.splitlines()) + "main()\n"


PINNED = IMPORT + "".join(map(pinned, range(1_000)))

FILES = {
    "models.py": (IMPORT + "strategy = tf.distribute.MirroredStrategy()\n" + "".join(map(outside, range(800))), 800),
    "devices.py": (IMPORT + "".join(map(pinned, range(5_000))), 5_000),
    "cell.ipynb": (notebook(PINNED), 1_000),
    "function.ipynb": (notebook(function(PINNED)), 1_000),
    "blocks.md": (block(IMPORT) + "".join(block(pinned(number)) for number in range(4_000)), 4_000),
    "block.md": (block(PINNED), 1_000),
    "quoted.md": (block(PINNED, "> "), 1_000),
    "comments.md": (block("".join(map(unused, range(2_000)))), 2_000),
}
"""The text of each file, and the number of its findings."""


def check(directory: Path, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    (directory / name).write_text(FILES[name][0], encoding="utf-8")
    command = ["check", "--isolated", "--no-cache", "--select", "ALL", "--extension", "md", *options, name]
    return gpulint_within(HANG, *command, cwd=directory)


@pytest.mark.parametrize("name", ["models.py", "cell.ipynb", "function.ipynb", "block.md", "comments.md"])
def test_every_finding_has_its_fix(tmp_path: Path, name: str) -> None:
    done = check(tmp_path, name, "--output-format", "json")
    found = json.loads(done.stdout)
    assert len(found) == FILES[name][1], done.stderr
    assert all(one["fix"]["edits"] for one in found)


@pytest.mark.parametrize("name", ["devices.py", "blocks.md", "quoted.md"])
def test_a_diff_shows_every_fix(tmp_path: Path, name: str) -> None:
    done = check(tmp_path, name, "--diff", "--unsafe-fixes")
    assert f"Would fix {FILES[name][1]} findings." in done.stderr
    assert len(re.findall(r"^-.*tf\.device", done.stdout, re.MULTILINE)) == FILES[name][1]


CHOOSING = """
from gpulint.places import Span
from gpulint.rewriting.fix import Applicability, Edit, Fix
from gpulint.rewriting.text import chosen

def fixes(rows):
    return [Fix(Applicability.SAFE, "", (Edit(Span("p.py", row, 1, row + rows, 1), ""),)) for row in range(50_000)]

assert chosen(reversed(fixes(rows=1))) == fixes(rows=1)
assert chosen(reversed(fixes(rows=5))) == fixes(rows=5)[::5]
"""


def test_of_overlapping_fixes_some_are_chosen() -> None:
    assert run_within(HANG, [sys.executable, "-c", CHOOSING]).returncode == 0


def test_the_fixes_of_a_file_have_a_maximum_size(tmp_path: Path) -> None:
    """Each of these fixes indents all rows below it, which makes a quadratic number of edits."""
    made = "".join(f"strategy.scope()\nmodel{number} = tf.keras.Sequential()\n" for number in range(600))
    path = tmp_path / "program.py"
    path.write_text(f"{IMPORT}strategy = tf.distribute.MirroredStrategy()\n{made}", encoding="utf-8")
    finder = SettingsFinder(Settings(root=str(tmp_path), lint=LintSettings(select=("GPU203",))))
    found = findings_of(Checker(finder, CATALOGUE).check([str(path)]))
    edits = [edit for one in found if one.fix is not None for edit in one.fix.edits]
    assert len(found) == 600
    assert MAX_WRITTEN / 2 < sum(EDIT_SIZE + len(edit.content) for edit in edits) <= MAX_WRITTEN


def test_fixes_that_break_a_file_are_not_all_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[bytes] = []

    def compiles(path: str, content: bytes, before: Source) -> bool:
        tried.append(content)
        return False

    monkeypatch.setattr("gpulint.fixing.rounds.compiles", compiles)
    assert (
        played(Play({"a = 1\n": [(f"GPU{number}", becomes(f"a = {number}")) for number in range(2, 502)]})) == "a = 1\n"
    )
    assert 1 < len(tried) <= MAX_TRIES


def test_fixes_that_make_findings_are_not_all_tried() -> None:
    fixes = [(f"GPU{number}", becomes(f"a = {number}")) for number in range(2, 502)]
    worse = {f"a = {number}\n": [("GPU101", None)] * 1_000 for number in range(2, 502)}
    play = Play({"a = 1\n": fixes, **worse})
    assert played(play) == "a = 1\n"
    assert play.checks <= 2 * MAX_TRIES + 1
