"""Classes that inherit from all before them, and methods that all use each other, take time in proportion."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.analysis.driver import entry_points
from tests.checking import codes_in
from tests.processes import gpulint_within

FINDING = "import tensorflow as tf\nwith tf.device('/gpu:0'):\n    x = tf.ones(2)\n"


def inheriting(count: int) -> str:
    """Classes with an exponential number of ways to the first one."""
    rows = []
    for number in range(count):
        bases = ", ".join(f"C{one}" for one in reversed(range(number)))
        rows.append(f"class C{number}({bases}):\n    def m{number}(self):\n        return super().m{number}()\n")
    return "".join(rows)


def chained(count: int) -> str:
    """A class each method of which calls the next one."""
    rows = "".join(f"    def f{row}(self):\n        return self.f{row + 1}()\n" for row in range(count))
    return f"class A:\n{rows}a = A()\na.f0()\n"


def filled(count: int) -> str:
    """A class each method of which assigns what the one before it reads."""
    rows = "".join(f"    def f{row}(self):\n        self.a{row} = self.a{row + 1}\n" for row in range(count))
    return f"class A:\n    def __init__(self):\n        self.a0 = None\n{rows}"


PROGRAMS = {"inheriting": inheriting(60), "chained": chained(3_000), "filled": filled(3_000)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_many_classes_and_methods_take_a_bounded_time(name: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(FINDING + PROGRAMS[name])
    limits = ["--config", "max-file-seconds=15", "--config", "max-file-memory=500"]
    run = gpulint_within(60, "check", "--no-cache", "--output-format", "concise", *limits, ".", cwd=tmp_path)
    assert "main.py:2:6" in run.stdout and "GPU001" not in run.stdout, run.stdout + run.stderr


def test_what_the_methods_of_a_method_assign_still_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import tensorflow as tf\n" + chained(5) + FINDING
    before = codes_in(text, tmp_path)
    monkeypatch.setattr(entry_points, "MAX_CALLEES", 2)
    assert codes_in(text, tmp_path) == before == {"GPU101"}
