"""Thousands of definitions, each with code that may use any other: time and memory in proportion to their number."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes import gpulint_within

IMPORT = "import tensorflow as tf\n"
FINDING = "with tf.device('/gpu:0'):\n    x = tf.ones(2)\n"


def rows(text: str, count: int) -> str:
    return "".join(f"{text.replace('#', str(number))}\n" for number in range(count))


PROGRAMS = {
    "names by globals": rows("def f#(x): return globals()[x]", 4_000),
    "methods by name": "class C:\n" + rows(" def m#(self): return getattr(self, x)", 4_000) + "C()\n",
    "methods by a part of their name": "class C:\n{}{}".format(
        rows(" def _m#x_(self): return 1", 4_000), rows("def f#(x): return getattr(x, '_m#' + x)", 4_000)
    ),
    "methods by one part of their name": "class C:\n{}{}".format(
        rows(" def _same#(self): return 1", 4_000), rows("def f#(x): return getattr(x, '_same' + x)", 4_000)
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_names_are_not_paired_with_all_others(name: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(IMPORT + FINDING + PROGRAMS[name])
    limits = ["--config", "max-file-seconds=10", "--config", "max-file-memory=700"]
    run = gpulint_within(20, "check", "--no-cache", "--output-format", "concise", *limits, ".", cwd=tmp_path)
    assert "train.py:2:6: warning[GPU101]" in run.stdout and "GPU001" not in run.stdout, run.stdout + run.stderr
