"""The action, the hook, the command and its worker processes import nothing from a pull request."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
PROGRAM = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'
TRAP = "open({marker!r}, 'a').write(__name__ + ' was imported from ' + __file__ + '\\n')\n"
DEPENDENCIES = (
    "click",
    "gpulint",
    "libcst",
    "markdown_it",
    "packaging",
    "pip",
    "platformdirs",
    "psutil",
    "rich",
    "venv",
)

SCRIPT = (
    "import sys\n{prepare}\nfrom gpulint.cli.main import main\n\nif __name__ == '__main__':\n    sys.exit(main())\n"
)
"""The command that pip installs as `gpulint`."""

SPAWNING = "import gpulint.linting.workers as workers\nworkers.FORKS, workers.SMALL_RUN = False, 0"
"""Worker processes as on macOS and Windows."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A pull request in which every module that Python or gpulint could import writes a line to `home/ran`."""
    home = tmp_path / "home"
    home.mkdir()
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    trap = TRAP.format(marker=str(home / "ran"))
    for name in {*sys.stdlib_module_names, *DEPENDENCIES, "sitecustomize", "usercustomize", "tensorflow"}:
        (checkout / f"{name}.py").write_text(trap)
        (checkout / name).mkdir()
        (checkout / name / "__init__.py").write_text(trap)
        (checkout / name / "__main__.py").write_text(trap)
    (checkout / "a.dist-info").mkdir()
    (checkout / "a.dist-info" / "entry_points.txt").write_text("[gpulint.rules]\na = venv\n")
    (checkout / "pip.conf").write_text("[global]\nindex-url = http://127.0.0.1:9/\n")
    (checkout / "train_0.py").write_text(PROGRAM)
    (checkout / "train_1.py").write_text(PROGRAM)
    return checkout


def run(checkout: Path, command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    # the tree is on the path of the tests' interpreter, however they were started
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GPULINT", "GITHUB"))}
    environment = {**bare, **more}
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=120)


def bash(step: dict[str, Any]) -> list[str]:
    return ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]


def imported(checkout: Path) -> str:
    ran = checkout.parent / "home" / "ran"
    return ran.read_text() if ran.exists() else ""


@pytest.mark.skipif(sys.platform == "win32", reason="steps are run by bash")
@pytest.mark.parametrize(("step", "status"), [("Check", 1), ("Write SARIF", 0)])
def test_the_action_imports_nothing_from_the_checkout(checkout: Path, step: str, status: int) -> None:
    given = {"GPULINT_PATHS": "train_0.py train_1.py", "GPULINT_ARGS": "--isolated --no-cache"}
    given |= {"GPULINT_SARIF": "/dev/stdout", "GPULINT_PYTHON": sys.executable, "PYTHONPATH": "."}
    done = run(checkout, bash(STEPS[step]), **given)
    assert imported(checkout) == ""
    assert done.returncode == status and "train_0.py" in done.stdout and "train_1.py" in done.stdout, done.stderr


@pytest.mark.parametrize("prepare", ["", SPAWNING], ids=["forks", "spawns"])
def test_the_command_and_its_workers_import_nothing_from_the_working_directory(checkout: Path, prepare: str) -> None:
    script = checkout.parent / "bin" / "gpulint"
    script.parent.mkdir()
    script.write_text(SCRIPT.format(prepare=f"sys.path.append({str(ROOT)!r})\n{prepare}"))
    line = [sys.executable, str(script), "check", "--isolated", "-n", "-j2", "--output-format", "concise"]
    done = run(checkout, [*line, "train_0.py", "train_1.py"])
    assert imported(checkout) == ""
    assert (done.returncode, done.stdout.count("[GPU101] ")) == (1, 2), done.stderr


def test_the_traps_work(checkout: Path) -> None:
    run(checkout, [sys.executable, "-c", "import venv"])
    assert "was imported" in imported(checkout)


@pytest.mark.skipif(sys.platform == "win32", reason="steps are run by bash")
def test_the_installation_is_isolated_and_happens_outside_the_checkout(checkout: Path, tmp_path: Path) -> None:
    temporary, output, log = tmp_path / "runner", tmp_path / "output", tmp_path / "log"
    python = temporary / "gpulint" / "bin" / "python"
    python.parent.mkdir(parents=True)
    shims = tmp_path / "shims"
    shims.mkdir()
    for path in (shims / "python3", python):
        path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$PWD $*" >> {shlex.quote(str(log))}\n')
        path.chmod(0o755)
    step = STEPS["Install gpulint"]
    where = step["working-directory"].replace("${{ runner.temp }}", str(temporary))
    given = {"RUNNER_TEMP": str(temporary), "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_OUTPUT": str(output)}
    done = run(Path(where), bash(step), PATH=f"{shims}:{os.environ['PATH']}", **given)
    assert done.returncode == 0, done.stderr
    called = [line.split() for line in log.read_text().splitlines()]
    assert len(called) == 3
    assert all(words[:3] == [str(temporary), "-I", "-m"] for words in called)
    install, own = called[1], called[2]
    assert {"--require-hashes", "--only-binary", str(ROOT / "requirements" / "action.txt")} < {*install}
    assert {"--no-index", "--no-deps", "--no-build-isolation", str(ROOT)} < {*own}
    assert output.read_text() == f"python={python}\n"


def test_steps_get_inputs_from_the_environment_and_leave_none_to_later_steps() -> None:
    scripts = [step["run"] for step in STEPS.values() if "run" in step]
    assert not re.search(r"\$\{\{|GITHUB_ENV|GITHUB_PATH", "".join(scripts))


def test_other_actions_are_pinned_by_commit() -> None:
    used = [step["uses"] for step in STEPS.values() if "uses" in step]
    used += re.findall(r"(?m)^\s*(?:- )?uses: (?!OWNER/)(\S+)", (ROOT / "docs" / "ci.md").read_text())
    assert len(used) >= 4
    assert [one for one in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", one)] == []


def test_what_the_action_installs_covers_the_dependencies_and_is_pinned_by_hash() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    text = (ROOT / "requirements" / "action.txt").read_text().replace("\\\n", " ")
    pinned: dict[str, list[Requirement]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            requirement, *hashes = line.split("--hash=")
            assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", one) for one in hashes), line
            one = Requirement(requirement)
            pinned.setdefault(one.name.lower(), []).append(one)
    for wanted in map(Requirement, [*project["project"]["dependencies"], *project["build-system"]["requires"]]):
        found = pinned.get(wanted.name.lower(), [])
        assert found, f"{wanted.name} is not pinned: see the head of requirements/action.txt"
        for one in found:
            (version,) = (specifier.version for specifier in one.specifier)
            assert str(one.specifier).startswith("==") and wanted.specifier.contains(version)


def test_hooks_and_recipes_start_the_console_script() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {hook["entry"].split()[0] for hook in hooks} == {"gpulint"}
    assert "-m gpulint" not in "".join(re.findall(r"(?s)```.*?```", (ROOT / "docs" / "ci.md").read_text()))
