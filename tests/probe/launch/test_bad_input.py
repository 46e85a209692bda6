"""Misbehaving programs behave under `gpulint probe` as without it, and the report says what is missing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpulint.probe.launch.process_tree import ProcessTree

WORK = """
import tensorflow as tf


def work():
    return float(tf.reduce_sum(tf.linalg.matmul(tf.ones((8, 8)), tf.ones((8, 8)))))  # work


"""

LOGGED = re.compile(
    r"(WARNING: All log messages before absl::|[IWE]0000 00:00:|\d{4}-\d\d-\d\d ).*\n|To enable the .*\n"
)
"""A log line of TensorFlow, with its time."""

PROGRAMS = {
    "initialises TensorFlow in a thread": (
        "import threading\n\n\ndef first():\n    import tensorflow as tf\n\n"
        "    print(float(tf.reduce_sum(tf.linalg.matmul(tf.ones((8, 8)), tf.ones((8, 8))))))  # work\n\n\n"
        "worker = threading.Thread(target=first)\nworker.start()\nworker.join()\nprint('joined')\n"
    ),
    "leaves TensorFlow to a thread that outlives the main one": (
        f"import threading\n{WORK}threading.Thread(target=lambda: print(work())).start()\n"
    ),
    "lets TensorFlow log nothing": (f"import os\n\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n{WORK}print(work())\n"),
    "os._exit": f"import os\n{WORK}print(work(), flush=True)\nos._exit(3)\n",
    "asks for input in the middle of a line": (
        f"import sys\n{WORK}name = input('name: ')\nprint(name, work())\nprint(len(sys.stdin.read()))\n"
    ),
    "changes directory, replaces hooks and fails": (
        f"import os, sys, tempfile, threading\n{WORK}os.chdir(tempfile.mkdtemp())\nos.rmdir(os.getcwd())\n"
        "sys.excepthook = lambda kind, error, trace: print('mine', kind.__name__, error)\n"
        "threading.excepthook = lambda given: print('thread', given.exc_type.__name__)\n"
        "def fails():\n    raise KeyError(work())\n"
        "worker = threading.Thread(target=fails)\nworker.start()\nworker.join()\nraise ValueError('bad')\n"
    ),
    "closes its output and goes on": f"import sys\n{WORK}print(work())\nsys.stdout.close()\nwork()\n",
}
GIVEN = "Ada\nx\ny\n"
ENDS = {"os._exit": 3, "changes directory, replaces hooks and fails": 1}


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "0", "CUDA_VISIBLE_DEVICES": "-1", **more}


def run(tmp_path: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env=environment(**more),
        input=GIVEN,
        capture_output=True,
        text=True,
        check=False,
    )


def both(
    tmp_path: Path, text: str, **more: str
) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str], dict[str, Any]]:
    """A program without the probe and under it, with the report."""
    (tmp_path / "a.py").write_text(text)
    alone = run(tmp_path, "a.py", **more)
    options = ("--isolated", "--output-format", "json", "-o", "report.json")
    watched = run(tmp_path, "-m", "gpulint", "probe", *options, "a.py", **more)
    return alone, watched, json.loads((tmp_path / "report.json").read_text())


def lost(report: dict[str, Any]) -> list[str]:
    """The evidence that the report lacks because of the program; old TensorFlow releases lack some for every
    program."""
    return [one["evidence"] for one in report["environment"]["lost"] if not one["evidence"].startswith("waits for")]


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_behaves_as_without_the_probe_and_its_operations_are_seen(name: str, tmp_path: Path) -> None:
    alone, watched, report = both(tmp_path, PROGRAMS[name])
    assert watched.stdout == alone.stdout
    assert LOGGED.sub("", watched.stderr) == LOGGED.sub("", alone.stderr)
    assert report["run"]["status"] == alone.returncode == ENDS.get(name, 0)
    assert watched.returncode == (4 if name in ENDS else 0)
    row = next(number for number, line in enumerate(PROGRAMS[name].split("\n"), 1) if "# work" in line)
    seen = {(one["row"], one["op"], one["assigned"]) for one in report["placements"]}
    assert {(row, "MatMul", "CPU:0"), (row, "Sum", "CPU:0")} <= seen
    assert (lost(report), report["faults"]) == ([], [])


@pytest.mark.long
@pytest.mark.tensorflow
def test_a_silenced_tensorflow_still_prints_placements_on_standard_output(tmp_path: Path) -> None:
    """`TF_CPP_MIN_LOG_LEVEL=3` takes the lines from standard error only: they are read from the other stream."""
    _, _, report = both(tmp_path, PROGRAMS["lets TensorFlow log nothing"])
    assert report["log"]["stdout"]["placements"] > 0
    assert report["log"]["stderr"]["placements"] == 0


@pytest.mark.long
@pytest.mark.tensorflow
def test_others_that_tensorflow_calls_back_get_what_they_would_without_the_probe(tmp_path: Path) -> None:
    text = (
        "import tensorflow as tf\n\ntf.debugging.enable_check_numerics()\n\n\n@tf.function\ndef step(x):\n"
        "    return tf.linalg.matmul(x, x)  # work\n\n\nprint(step(tf.ones((2, 2))).numpy())\n"
        "try:\n    step(tf.fill((2, 2), float('nan')))\nexcept tf.errors.InvalidArgumentError:\n    print('found')\n"
    )
    alone, watched, report = both(tmp_path, text)
    assert alone.stdout.endswith("found\n")
    assert (watched.stdout, watched.returncode) == (alone.stdout, 0)
    assert (8, "MatMul", "CPU:0") in {(one["row"], one["op"], one["assigned"]) for one in report["placements"]}


@pytest.mark.long
@pytest.mark.tensorflow
def test_forks_are_said_not_to_be_watched(tmp_path: Path) -> None:
    fork = "import os\n{}child = os.fork()\nif not child:\n    {}\n    print('child', flush=True)\n    os._exit(5)\n"
    end = "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    for text in (
        fork.format(WORK + "work()\n", "pass") + end,
        fork.format("", "import tensorflow as tf; tf.ones(3)") + end,  # only the child imports it
    ):
        alone, watched, report = both(tmp_path, text)
        assert watched.stdout == alone.stdout == "child\n5\n"
        assert (watched.returncode, report["run"]["status"]) == (0, 0)
        assert lost(report) == ["other processes"]
        assert report["faults"] == []


@pytest.mark.long
@pytest.mark.tensorflow
def test_a_program_that_is_cut_short_is_said_to_be(tmp_path: Path) -> None:
    alone, watched, report = both(tmp_path, f"import os\n{WORK}print(work(), flush=True)\nos.abort()\n")
    assert watched.stdout == alone.stdout
    assert alone.returncode == -6
    assert (watched.returncode, report["run"]["signal"]) == (4, 6)
    assert lost(report) == ["the end"]


@pytest.mark.long
@pytest.mark.tensorflow
def test_a_program_that_replaces_itself_is_not_said_to_have_no_tensorflow(tmp_path: Path) -> None:
    again = (
        "import os, sys, time\nif len(sys.argv) < 2:\n    os.execv(sys.executable, [sys.executable, 'a.py', 'on'])\n"
    )
    alone, watched, report = both(tmp_path, f"{again}{WORK}print(work(), flush=True)\ntime.sleep(2.5)\n")
    assert (watched.stdout, watched.returncode) == (alone.stdout, 0)
    assert lost(report) == ["tensorflow"]


@pytest.mark.parametrize("caught", [False, True])
def test_a_tensorflow_that_cannot_be_imported_is_reported_with_its_error(caught: bool, tmp_path: Path) -> None:
    (tmp_path / "broken" / "tensorflow").mkdir(parents=True)
    error = "libcudart.so.12: cannot open shared object file"
    (tmp_path / "broken" / "tensorflow" / "__init__.py").write_text(f"raise ImportError({error!r})\n")
    text = "try:\n    import tensorflow as tf\nexcept ImportError as error:\n    print('without', error)\n"
    path = os.pathsep.join([str(tmp_path / "broken"), *filter(None, [os.environ.get("PYTHONPATH")])])
    alone, watched, report = both(tmp_path, text if caught else "import tensorflow as tf\n", PYTHONPATH=path)
    assert (watched.stdout, watched.stderr) == (alone.stdout, alone.stderr)
    assert watched.returncode == (0 if caught else 4)
    assert report["run"]["status"] == alone.returncode == (0 if caught else 1)
    assert report["environment"]["tensorflow"] is None
    told = {"evidence": "tensorflow", "reason": f"it could not be imported: ImportError: {error}"}
    assert report["environment"]["lost"] == [told]
    shown = run(tmp_path, "-m", "gpulint", "probe", "--isolated", "a.py", PYTHONPATH=path).stdout
    assert f"not seen: tensorflow (it could not be imported: ImportError: {error})" in " ".join(shown.split())


@pytest.mark.long
@pytest.mark.tensorflow
def test_processes_that_have_tensorflow_loaded_are_known() -> None:
    loads = (
        "import ctypes, glob, importlib.util, os\n"
        "folder = os.path.dirname(importlib.util.find_spec('tensorflow').origin)\n"
        "ctypes.CDLL(glob.glob(os.path.join(folder, 'libtensorflow_framework.so*'))[0])\n"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", f"{text}print('ready', flush=True)\ninput()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for text in (loads, "")
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    tree = ProcessTree(os.getpid())
    tree.sample()
    known = {child.pid for child in children} & tree.with_tensorflow
    for child in children:
        child.communicate("\n")
    assert known == {children[0].pid}
