"""The recipes of docs/scale.md, run for real. They need Ray, and Spark with Java: `pip install 'gpulint[scale]'`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
RECIPES = re.findall(r"```python\n# recipe: (\w+)\n(.*?)```", (ROOT / "docs" / "scale.md").read_text(), re.DOTALL)

RUN = """
import json, sys
from gpulint.output.record import record

{recipe}

{setup}
if __name__ == "__main__":
    result = check(["."])
    assert not result.errors, result.errors
    with open("found.json", "w") as file:
        json.dump([record(one) for one in result.findings], file)
"""
SETUP = {
    "ray": "ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100_000_000)",
    "spark": "SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false').getOrCreate()",
}
MODULES = {"ray": "ray", "spark": "pyspark"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few hundred programs: the fixtures, several times."""
    directory = tmp_path_factory.mktemp("project")
    (directory / "gpulint.toml").write_text('[lint]\nextend-select = ["GPU002"]\n')
    for copy in range(2):
        shutil.copytree(
            ROOT / "fixtures", directory / f"copy_{copy}", ignore=shutil.ignore_patterns("*.log", "*.jsonl")
        )
    assert len(list(directory.rglob("*.py"))) > 300
    return directory


@pytest.fixture(scope="module")
def by_command(project: Path) -> list[Any]:
    command = [sys.executable, "-m", "gpulint", "check", "--output-format", "json", "--jobs", "1", "."]
    done = subprocess.run(command, cwd=project, env=_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return list(json.loads(done.stdout))


def is_missing(name: str) -> bool:
    """Whether an engine cannot run here. Spark needs Java."""
    java = name != "spark" or shutil.which("java") is not None or "JAVA_HOME" in os.environ
    return find_spec(MODULES[name]) is None or not java


@pytest.mark.scale
@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        pytest.param(name, recipe, id=name, marks=pytest.mark.skipif(is_missing(name), reason=f"no {name} here"))
        for name, recipe in RECIPES
    ],
)
def test_a_recipe_finds_what_the_command_finds(name: str, recipe: str, project: Path, by_command: list[Any]) -> None:
    program = project.parent / f"on_{name}.txt"
    program.write_text(RUN.format(recipe=recipe, setup=SETUP[name]))
    (project / "found.json").unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, str(program)], cwd=project, env=_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads((project / "found.json").read_text()) == by_command
    assert len(by_command) > 300


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "RAY_USAGE_STATS_ENABLED": "0"}
