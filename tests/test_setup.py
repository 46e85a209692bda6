"""The modules of a compiled wheel, and the text on package indexes."""

from __future__ import annotations

import re
import runpy
import subprocess
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


def test_package_indexes_show_links_of_the_site_to_pages_that_exist(setup: dict[str, Any]) -> None:
    site = "https://gpulint.example/"
    links = re.findall(r"\]\(([^)]+)\)", setup["description"](site))
    assert links and all(link.startswith("https://") for link in links)
    local = re.findall(r"\]\((docs/[^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(local) == sum(link.startswith(site) for link in links)
    assert [name for name in local if not (ROOT / name).is_file()] == []


def test_without_a_site_package_indexes_show_no_link_that_leads_nowhere(setup: dict[str, Any]) -> None:
    shown = setup["description"](None)
    assert [link for link in re.findall(r"\]\(([^)]+)\)", shown) if "://" not in link] == []
    assert "![" not in shown and "Which five findings matter explains" in shown


def test_the_package_names_the_site_that_findings_link_to(setup: dict[str, Any]) -> None:
    tomllib = pytest.importorskip("tomllib")
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"].get("urls", {})
    assert urls.get("Documentation") == setup["site"]()


def test_every_package_is_in_the_wheel() -> None:
    packaging = pytest.importorskip("tomllib").loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    found = set()
    for package, folder in (("gpulint", "gpulint"), ("gpulint.rules", "rules")):
        for path in (ROOT / folder).rglob("__init__.py"):
            found.add(".".join((package, *path.parent.relative_to(ROOT / folder).parts)))
    assert sorted(found) == sorted(packaging["packages"])


BY_DEFAULT = {"LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.py"}
"""What setuptools puts into every source distribution of this project."""


def test_every_file_is_in_the_source_distribution() -> None:
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False)
    if tracked.returncode or not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    lines = (ROOT / "MANIFEST.in").read_text("utf-8").splitlines()
    named = {name for line in lines if line.startswith(("graft", "include", "recursive-")) for name in line.split()[1:]}
    missing = [
        path for path in tracked.stdout.splitlines() if not {path, path.partition("/")[0]} & (named | BY_DEFAULT)
    ]
    assert missing == []
