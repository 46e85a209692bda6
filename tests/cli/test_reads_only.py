"""`check` only reads the files of a project: it imports, runs, starts and writes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gpulint

TREE = Path(gpulint.__file__).parent.parent

WATCHED = """
import os, sys
project, seen = os.getcwd(), os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)

def cached(path):
    "Whether a path is in a cache: that of the project, or that of the user, with the key of all caches."
    return "gpulint_cache" in path or path.startswith(os.path.join(os.environ["XDG_CACHE_HOME"], "gpulint"))

def note(kind, what):
    os.write(seen, f"{kind}\\t{what!r}\\n".encode("utf-8", "replace"))

def inside(path):
    path = os.fsdecode(path) if isinstance(path, (str, bytes)) else ""
    return os.path.abspath(path).startswith(project + os.sep) if path and path[:1] != "<" else False

def hook(event, arguments):
    if event == "import" and arguments[1] and inside(arguments[1]):
        note(event, arguments[1])
    elif event == "exec" and (inside(arguments[0].co_filename) or arguments[0].co_filename in ("<unknown>", "<fixed>")):
        note(event, arguments[0].co_filename)
    elif event == "compile" and arguments[1] is not None and inside(arguments[1]):
        note(event, arguments[1])
    elif event == "open":
        path, mode, flags = arguments
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        if writes and isinstance(path, (str, bytes)) and not cached(os.fsdecode(path)):
            note(event, path)
    elif event.split(".")[0] in ("subprocess", "socket", "ctypes", "shutil", "webbrowser", "urllib", "ftplib"):
        note(event, arguments)
    elif event in ("os.remove", "os.rename"):
        if not all(cached(one) for one in arguments if isinstance(one, str)):
            note(event, arguments)
    elif event in ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.chmod"):
        note(event, arguments)

sys.addaudithook(hook)
sys.dont_write_bytecode = True
from gpulint.cli.main import main
sys.argv = ["gpulint", *sys.argv[2:]]
main()
"""
"""Run the command and log everything that it does besides reading to the first file."""

EXPECTED = {
    "ctypes.dlopen",
    "ctypes.dlsym",
    "ctypes.dlsym/handle",
    "ctypes.set_errno",
    "ctypes.cdata",
    "socket.__new__",
}
"""What gpulint's dependencies do on import, and the pipes to its own processes."""

TRAP = "import os\nopen(os.environ['TRAP'], 'w').write(__name__ + ' was run')\n"
PROGRAM = (
    "import tensorflow as tf\nfrom helper import scale\nimport conftest\nimport libcst, click, rich, sitecustomize\n\n"
    "with tf.device('/gpu:0'):\n    x = tf.zeros(scale)\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in which everything that could be run by mistake leaves a mark if it is."""
    project = tmp_path / "project"
    project.mkdir()
    for name in (
        "libcst",
        "click",
        "rich",
        "sitecustomize",
        "usercustomize",
        "conftest",
        "setup",
        "helper",
        "ast",
        "re",
    ):
        (project / f"{name}.py").write_text(TRAP + "scale = 4\n")
    for name in ("gpulint_rules", "rules", "packaging"):
        (project / name).mkdir()
        (project / name / "__init__.py").write_text(TRAP)
    (project / "train.py").write_text(PROGRAM)
    (project / "__main__.py").write_text(TRAP + PROGRAM)
    cell = {"cell_type": "code", "source": PROGRAM + "!touch $TRAP\n%run helper.py\n", "metadata": {}, "outputs": []}
    (project / "a.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    (project / "pyproject.toml").write_text(
        "[build-system]\nbuild-backend = 'setup'\nbackend-path = ['.']\n[project.entry-points.'gpulint.rules']\n"
        "evil = 'gpulint_rules'\n[tool.gpulint]\nsrc = ['.', '../..', '/']\n"
        "[tool.pytest.ini_options]\naddopts = '-p setup'\n"
    )
    return project


def run(project: Path, command: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
    # beside the tree itself nothing is on the path that the tests' interpreter has not got anyway
    environment = {
        **os.environ,
        "PYTHONPATH": str(TREE),
        "TRAP": str(project.parent / "trap"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False, **more)


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "."],
        ["check", "-j2", "."],
        ["check", "--diff", "--unsafe-fixes", "."],
        ["plan", "train.py"],
        ["check", "--statistics"],
    ],
    ids=" ".join,
)
def test_nothing_of_the_project_is_run_and_nothing_is_written(project: Path, arguments: list[str]) -> None:
    script, seen = project.parent / "watched.txt", project.parent / "seen.txt"
    script.write_text(WATCHED)
    before = sorted(path for path in project.rglob("*") if "gpulint_cache" not in str(path))
    done = run(project, [sys.executable, str(script), str(seen), *arguments])
    assert done.returncode == (0 if arguments[0] == "plan" else 1), done.stderr
    assert "gpu:0" in done.stdout or "GPU101" in done.stdout, done.stdout
    assert [line for line in seen.read_text().splitlines() if line.split("\t")[0] not in EXPECTED] == []
    assert not (project.parent / "trap").exists()
    assert sorted(path for path in project.rglob("*") if "gpulint_cache" not in str(path)) == before


def test_the_hook_sees_what_it_is_to_see(project: Path) -> None:
    script, seen = project.parent / "watched.txt", project.parent / "seen.txt"
    script.write_text(WATCHED.replace("main()\n", "sys.path.insert(0, project); import helper\n"))
    run(project, [sys.executable, str(script), str(seen)])
    kinds = {line.split("\t")[0] for line in seen.read_text().splitlines()}
    assert {"exec", "open"} <= kinds


@pytest.mark.parametrize(
    "module", [["-m", "gpulint"], ["-c", "from gpulint.cli.main import main; main()"]], ids=["-m", "-c"]
)
def test_modules_in_the_working_directory_do_not_take_the_place_of_gpulints(project: Path, module: list[str]) -> None:
    options = ["-P"] if module[0] == "-c" and sys.version_info >= (3, 11) else []
    if module[0] == "-c" and not options:
        pytest.skip("this Python always looks into the working directory")
    done = run(project, [sys.executable, *options, *module, "check", "train.py"])
    assert not (project.parent / "trap").exists(), done.stderr
    assert done.returncode == 1 and "GPU101" in done.stdout, done.stderr
