"""Each command on each hostile repository: none of its code runs, nothing outside it changes, and the command ends."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("the traps are shell scripts, pipes and links", allow_module_level=True)

from tests import warm
from tests.security.fuzzing import contents
from tests.security.test_git import git, make_repository
from tests.server.editor import Editor, edit

SECONDS = 90
"""Seconds within which a command must end, even on a busy machine."""

Hostile = Callable[[Path, str], None]
"""Sets a trap in a repository, given its folder and a line of Python that leaves a mark."""


def rules(repository: Path, mark: str) -> None:
    (repository / "lint").mkdir()
    (repository / "lint" / "evil.py").write_text(mark)
    (repository / "gpulint.toml").write_text("rule-paths = ['lint', '.']\n")


def modules(repository: Path, mark: str) -> None:
    for name in ("shutil", "json", "libcst", "click", "platformdirs", "tomllib", "conftest", "setup", "sitecustomize"):
        (repository / f"{name}.py").write_text(mark)
    for name in ("gpulint", "lsprotocol", "pygls", "watchfiles", "packaging"):
        (repository / name).mkdir()
        (repository / name / "__init__.py").write_text(mark)


def git_programs(repository: Path, mark: str) -> None:
    trap = repository / ".git" / "trap"
    trap.write_text(f"#!/bin/sh\n{shlex.quote(sys.executable)} -c {shlex.quote(mark)}\n")
    trap.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "filter.x.clean",
        "filter.x.process",
        "diff.x.textconv",
    ):
        git(repository, "config", key, str(trap))
    (repository / ".gitattributes").write_text("* filter=x diff=x\n")


def bare_repository(repository: Path, mark: str) -> None:
    git(repository, "init", "-q", "--bare", "data")
    trap = repository / "data" / "trap"
    trap.write_text(f"#!/bin/sh\n{shlex.quote(sys.executable)} -c {shlex.quote(mark)}\n")
    trap.chmod(0o755)
    git(repository / "data", "config", "core.fsmonitor", str(trap))


def cache_outside(repository: Path, mark: str) -> None:
    (repository / ".gpulint_cache").symlink_to("../home")
    (repository / "gpulint.toml").write_text("cache-dir = '../home'\nbaseline = '../home/baseline.json'\n")


def cache_link(repository: Path, mark: str) -> None:
    (repository / ".gpulint_cache").symlink_to("../home")


def fixes_outside(repository: Path, mark: str) -> None:
    (repository / "train.py").unlink()
    (repository / "train.py").symlink_to("../home/mine.py")
    (repository / "sub").symlink_to("../home")
    (repository / "gpulint.toml").write_text("fix = true\nunsafe-fixes = true\n")


def special_files(repository: Path, mark: str) -> None:
    for name in (".gitignore", "README.md", "setup.py", "requirements.txt", "a.py", "b.ipynb", "Dockerfile"):
        os.mkfifo(repository / name)
    (repository / "z.py").symlink_to("/dev/zero")
    (repository / "loop").symlink_to(".")


def slow_texts(repository: Path, mark: str) -> None:
    program = (repository / "train.py").read_text()
    comments = "# gpu" + "#a " * 20_000 + "\n" + "\n" * 150_000 + "# gpulint: " + "ignore[" * 10_000 + "\n"
    (repository / "train.py").write_text(program + comments)
    (repository / "Dockerfile").write_text("FROM" + " " * 60_000 + "\nARG " + "A" * 60_000 + "\n")
    (repository / "requirements.txt").write_text("tensorflow" + "," * 50_000 + "\n" + "tensorflow==2.3\n" * 20_000)
    (repository / "README.md").write_text("tensorflow " * 50_000 + "`" * 50_000 + "2.3 or " * 20_000)
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": "!" + "pip install " * 1_500}
    notebook = {"cells": [cell] * 3, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (repository / "a.ipynb").write_text(json.dumps(notebook))
    (repository / ".gitignore").write_text("*a" * 40 + "b\n" + "**/a/" * 40 + "b\n")
    (repository / ("a" * 240 + ".py")).write_text("")


def broken_settings(repository: Path, mark: str) -> None:
    (repository / "gpulint.toml").write_text('baseline = "\\u0000x"\n')


def endless_settings(repository: Path, mark: str) -> None:
    (repository / "gpulint.toml").write_text("a" + ".a" * 400_000 + " = 1\n")


REPOSITORIES: list[Hostile] = [
    rules, modules, git_programs, bare_repository, cache_outside, cache_link, fixes_outside, special_files, slow_texts,
    broken_settings, endless_settings,
]  # fmt: skip

COMMANDS = {
    "check": ["check"],
    "fix": ["check", "--fix", "--unsafe-fixes", "--add-ignore=x"],
    "since": ["check", "--since", "HEAD", "-n"],
    "plan": ["plan", "train.py"],
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "mine.py").write_text("import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n    x = tf.zeros(4)\n")
    (home / "thesis.tex").write_text("years of work")
    for path in home.iterdir():
        os.utime(path, (1, 1))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for variable in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(variable)
    make_repository(tmp_path / "repository")
    return tmp_path / "repository"


def arm(hostile: Hostile, repository: Path) -> Path:
    """The mark that code of the repository leaves if it runs."""
    marked = repository.parent / "marked"
    hostile(repository, f"open({str(marked)!r}, 'a').close()")
    assert not marked.exists()
    return marked


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("hostile", REPOSITORIES, ids=lambda one: one.__name__)
def test_a_command(repository: Path, hostile: Hostile, command: str) -> None:
    marked = arm(hostile, repository)
    before = contents(repository.parent / "home")
    cwd = repository / "data" if hostile is bare_repository and command == "since" else repository
    if hostile is modules:  # only a new process imports
        done = warm.Fresh().run([sys.executable, "-I", "-m", "gpulint", *COMMANDS[command]], cwd=cwd)
    else:
        done = warm.gpulint().run([sys.executable, "-m", "gpulint", *COMMANDS[command]], cwd=cwd)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1, 2)
    assert not marked.exists(), "code of the repository ran"
    assert contents(repository.parent / "home") == before


@pytest.mark.parametrize("hostile", REPOSITORIES, ids=lambda one: one.__name__)
def test_watching(repository: Path, hostile: Hostile) -> None:
    marked = arm(hostile, repository)
    before = contents(repository.parent / "home")
    isolated = ["-I"] if hostile is modules else []
    line = [sys.executable, *isolated, "-m", "gpulint", "check", "--watch"]
    reading, writing = os.pipe()
    with open(os.devnull, "r+") as nothing, open(reading) as errors:
        watching = warm.Fresh().start(warm.Program(line, repository), [nothing.fileno(), nothing.fileno(), writing])
        os.close(writing)
        killing = threading.Timer(SECONDS, watching.kill)
        killing.start()
        for row in errors:
            assert "Traceback" not in row, row + errors.read()
            if "watching;" in row:
                time.sleep(0.1)
                watching.terminate()
        assert watching.wait() != -signal.SIGKILL
        killing.cancel()
    assert not marked.exists(), "code of the repository ran"
    assert contents(repository.parent / "home") == before


@pytest.mark.parametrize("hostile", REPOSITORIES, ids=lambda one: one.__name__)
def test_the_server(repository: Path, hostile: Hostile) -> None:
    marked = arm(hostile, repository)
    before = contents(repository.parent / "home")

    async def test(editor: Editor) -> None:
        uri = editor.open(repository / "train.py")
        if hostile in (broken_settings, endless_settings):
            await editor.until(lambda: bool(editor.messages))
        else:
            await editor.diagnostics(uri)

    edit(test, repository, is_fresh=hostile is modules)
    assert not marked.exists(), "code of the repository ran"
    assert contents(repository.parent / "home") == before


@pytest.mark.parametrize("command", [["doctor", "--no-compute"], ["check", "--python", sys.executable]], ids=" ".join)
def test_the_doctors_questions(repository: Path, command: list[str]) -> None:
    marked = arm(modules, repository)
    mark = (repository / "json.py").read_text()
    for name in ("tensorflow", "numpy", "pynvml", "ast", "csv", "email", "zipfile", "ctypes", "traceback"):
        (repository / f"{name}.py").write_text(mark)
    done = subprocess.run(
        [sys.executable, "-I", "-m", "gpulint", *command],
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert "Traceback" not in done.stderr and done.returncode in (0, 1), done.stderr
    assert ("error[tensorflow-shadowed]" in done.stdout) is (command[0] == "doctor")
    assert not marked.exists(), "code of the repository ran"
