"""gpulint reports exactly what each fixture notebook expects, in its cell and row.

`# expect: GPU201` at the end of a line speaks of that row; on a line of its own of the next row, which is a magic.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests import warm
from tests.notebooks import NOTEBOOKS
from tests.programs import EXPECT


def expected(path: Path) -> set[tuple[int, int, str]]:
    """(cell, row, code) of each finding that a notebook expects."""
    found = set()
    for cell, content in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        for row, line in enumerate("".join(content["source"]).split("\n"), 1):
            if (match := EXPECT.search(line)) is not None:
                at = row + 1 if line.strip().startswith("#") else row
                found |= {(cell, at, code) for code in re.split(r"\s*,\s*", match["codes"])}
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_gpulint_reports_exactly_what_the_notebook_expects(path: Path) -> None:
    command = [sys.executable, "-m", "gpulint", "check", "--isolated", "--output-format", "json", str(path)]
    done = warm.gpulint().run(command, cwd=path.parent)
    assert done.stderr == ""
    reported = {(one["cell"], one["location"]["row"], one["code"]) for one in json.loads(done.stdout)}
    assert reported == expected(path)


def test_half_of_the_notebooks_have_nothing_to_report() -> None:
    silent = [path for path in NOTEBOOKS if not expected(path)]
    assert len(NOTEBOOKS) >= 6 and 2 * len(silent) >= len(NOTEBOOKS)
