"""The pre-commit hook and the GitHub action."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")  # part of pre-commit

ROOT = Path(__file__).parent.parent
PINNED = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed parts of gpulint, as a repository."""
    copy = tmp_path_factory.mktemp("source") / "gpulint"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "setup.py", ".pre-commit-hooks.yaml", "action.yml"):
        shutil.copy(ROOT / name, copy)
    for name in ("gpulint", "rules", "requirements"):
        shutil.copytree(ROOT / name, copy / name, ignore=_not_installed)
    _commit(copy)
    return copy


def _not_installed(directory: str, names: list[str]) -> list[str]:
    return [name for name in names if name == "__pycache__" or os.path.islink(os.path.join(directory, name))]


def _commit(directory: Path) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", *arguments], cwd=directory, check=True)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A repository with a file with a finding, a file without one, and an excluded file."""
    directory = tmp_path / "program"
    (directory / "old").mkdir(parents=True)
    (directory / "gpulint.toml").write_text("extend-exclude = ['old']\n")
    (directory / "pinned.py").write_text(PINNED)
    (directory / "clean.py").write_text("import tensorflow as tf\n")
    (directory / "old" / "left_out.py").write_text(PINNED)
    _commit(directory)
    return directory


def _environment(tmp_path: Path, **more: str) -> dict[str, str]:
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "GIT_"))}
    # pip would compile every module of every package, of which the command imports a few.
    return {**bare, "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"), "PIP_NO_COMPILE": "1", **more}


@pytest.fixture(params=["the installed gpulint", pytest.param("its own", marks=pytest.mark.long)])
def hooks(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The repository of the hooks. pre-commit installs it into an environment of its own, or runs the command of this
    one: to install it takes longer than all other tests of this file."""
    if request.param == "its own":
        source: Path = request.getfixturevalue("source")
        return source
    copy = tmp_path / "hooks"
    copy.mkdir()
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    assert text.count("  language: python\n") == 2
    (copy / ".pre-commit-hooks.yaml").write_text(text.replace("language: python", "language: system"))
    _commit(copy)
    return copy


def test_pre_commit_runs_the_hook(hooks: Path, program: Path, tmp_path: Path) -> None:
    pytest.importorskip("pre_commit")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=hooks, check=True, capture_output=True, text=True)
    repository = {"repo": str(hooks), "rev": commit.stdout.strip(), "hooks": [{"id": "gpulint"}]}
    (program / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [repository]}))
    subprocess.run(["git", "add", "."], cwd=program, check=True)
    command = [sys.executable, "-m", "pre_commit", "run", "--color=never"]

    def hook(*arguments: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
        environment = _environment(tmp_path, PATH=path)
        return subprocess.run([*command, *arguments], cwd=program, env=environment, capture_output=True, text=True)

    everything = hook("--all-files")
    assert everything.returncode == 1, everything.stdout + everything.stderr
    assert "warning[GPU101]" in everything.stdout and "left_out.py" not in everything.stdout
    assert "Found 1 warning in 1 file." in everything.stdout
    clean = hook("--files", "clean.py")
    assert (clean.returncode, "Passed" in clean.stdout) == (0, True), clean.stdout
    other = hook("--files", "gpulint.toml")
    assert (other.returncode, "no files to check" in other.stdout) == (0, True), other.stdout


def test_the_action_installs_itself_annotates_and_writes_sarif(source: Path, program: Path, tmp_path: Path) -> None:
    steps = {step["name"]: step for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]}
    inputs = {"paths": "pinned.py clean.py", "args": "--ignore GPU2", "sarif-file": "log.sarif"}
    temporary = tmp_path / "runner"
    temporary.mkdir()
    outputs = tmp_path / "outputs"
    for name in ("gpulint", "pip", "sitecustomize", "shutil", "venv"):  # what Python may look for
        (program / f"{name}.py").write_text("raise SystemExit('imported from the checkout')\n")

    def run(name: str) -> subprocess.CompletedProcess[str]:
        step = steps[name]
        installed = outputs.read_text().partition("=")[2].strip() if outputs.exists() else ""
        known = {**inputs, "steps.install.outputs.python": installed, "runner.temp": str(temporary)}
        own = {key: _expanded(value, known) for key, value in step.get("env", {}).items()}
        environment = _environment(
            tmp_path,
            RUNNER_TEMP=str(temporary),
            GITHUB_ACTION_PATH=str(source),
            GITHUB_OUTPUT=str(outputs),
            **own,
        )
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        where = _expanded(step.get("working-directory", str(program)), known)
        return subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True)

    installed = run("Install gpulint")
    assert installed.returncode == 0, installed.stderr
    assert run("Write SARIF").returncode == 0
    assert '"GPU101"' in (program / "log.sarif").read_text()
    checked = run("Check")
    assert checked.returncode == 1, checked.stderr
    assert checked.stdout.startswith("::warning title=gpulint (GPU101),file=pinned.py,line=3")
    inputs["paths"] = "clean.py; touch injected"
    assert run("Check").returncode == 1
    assert not (program / "injected").exists()


def _expanded(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ (?:inputs\.)?([\w.-]+).*?\}\}", lambda match: known[match[1]], text)


def test_no_step_of_the_action_puts_inputs_into_its_script() -> None:
    steps: list[dict[str, Any]] = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    assert not [step["name"] for step in steps if "${{" in step.get("run", "")]


def test_the_workflow_runs_the_oldest_and_the_newest_python() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    classifiers = re.findall(
        r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    )
    assert workflow["jobs"]["python"]["strategy"]["matrix"]["python"] == [classifiers[0], classifiers[-1]]


def test_the_workflow_runs_what_the_gate_leaves_out() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert '-m "not long"' in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert any(step.get("run", "").endswith("-m long") for step in workflow["jobs"]["long"]["steps"])
