"""Thirty rows that double a value create one with a billion parts: the check is quick, whatever reads it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.analysis import doubling

SECONDS = 30
"""Limit of processor time per file. Each takes a fraction of a second; visiting every part once would take hours."""


@pytest.mark.parametrize("times", [2, pytest.param(8, marks=pytest.mark.long)])
def test_every_use_of_a_doubled_value_is_quick(times: int, tmp_path: Path) -> None:
    (tmp_path / "gpulint.toml").write_text(f"max-file-seconds = {SECONDS}\n[lint]\nselect = ['ALL']\n")
    rng = random.Random(0)
    uses = list(doubling.parts("uses"))
    rows = doubling.parts("rows")
    rng.shuffle(uses)
    each = -(-times * len(uses) // len(rows))
    for number, row in enumerate(rows):
        chosen = [uses[(number * each + position) % len(uses)] for position in range(each)]
        (tmp_path / f"p{number}.py").write_bytes(doubling.program(rng, row, chosen))
    command = [sys.executable, "-m", "gpulint", "check", "-n", "--output-format", "json", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    slow = {one["filename"]: one["message"] for one in json.loads(done.stdout) if one["code"] == "GPU001"}
    assert {(Path(tmp_path, name).read_text(), message) for name, message in slow.items()} == set()
