"""What a compiled wheel is built from."""

from __future__ import annotations

import runpy
from glob import glob
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names in `setup.py`."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("GPULINT_COMPILE", raising=False)
    return runpy.run_path("setup.py")


def test_nothing_is_compiled_or_required_by_default(setup: dict[str, Any]) -> None:
    assert setup["options"]() == {}


def test_each_pattern_names_modules_and_each_exception_is_one_of_them(setup: dict[str, Any]) -> None:
    assert [pattern for pattern in setup["COMPILED"] if not glob(pattern, recursive=True)] == []
    assert {path for path in setup["INTERPRETED"] if Path(path).is_file()} == setup["INTERPRETED"]


def test_the_interpreter_is_compiled_and_what_others_subclass_is_not(setup: dict[str, Any]) -> None:
    compiled = set(setup["compiled"]())
    assert {"gpulint/analysis/engine/machine.py", "gpulint/analysis/domain/store.py", "gpulint/syntax/ir.py"} < compiled
    assert not compiled & setup["INTERPRETED"]
    assert not [path for path in compiled if path.startswith(("gpulint/linting", "rules")) or "__init__" in path]


def test_a_wheel_requires_mypy_only_if_it_is_compiled(setup: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPULINT_COMPILE", "1")
    monkeypatch.setattr("sys.argv", ["setup.py", "egg_info"])
    assert [one.partition(">")[0] for one in setup["options"]()["setup_requires"]] == ["mypy"]
