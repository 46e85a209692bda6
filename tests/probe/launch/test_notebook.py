"""`gpulint probe` on notebooks: run as Jupyter would, watched cell by cell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpulint.cli import probing
from gpulint.cli.main import main
from gpulint.cli.options import UserError
from gpulint.probe.agent.cells import Cells
from gpulint.probe.agent.places import Places
from gpulint.probe.capture.records import Where
from gpulint.probe.launch.command import Target
from gpulint.probe.report import located, row_in_file
from gpulint.sources.notebook import read_notebook
from tests import warm
from tests.notebooks import notebook


def probe(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command beside the folder, so that directories can be told apart."""
    for package in ("nbclient", "nbformat", "ipykernel"):
        pytest.importorskip(package)
    command = [sys.executable, "-m", "gpulint", "probe", "--isolated", *arguments]
    return warm.gpulint().run(command, cwd=folder.parent)


def run(folder: Path, *cells: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    path = folder / "a.ipynb"
    path.write_text(notebook(*cells), encoding="utf-8")
    before = path.read_bytes()
    done = probe(folder, *options, str(path.relative_to(folder.parent)))
    assert path.read_bytes() == before
    return done


# --------------------------------------------------------------------------- without TensorFlow


def test_a_notebook_runs_in_its_folder_and_shows_what_it_prints(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "md:# t",
        "import os, sys\nprint(os.getcwd())\nprint('to stderr', file=sys.stderr)",
        "%%writefile near.py\nvalue = 42",
        "from near import value\nvalue",
        "x = !echo shell\nx[0] + '!'",
        "os.system('echo straight')\nNone",
        "sys.argv[1]",
        "display('shown')",
    )
    assert done.returncode == 0, done.stderr
    assert "to stderr\n" in done.stderr
    lines = done.stdout.splitlines()
    assert "straight" in lines
    assert lines[-1] == "Checks  1 inconclusive (-v shows them)"
    report = lines.index("The program did not import TensorFlow.")
    assert lines[report - 2].startswith("a.ipynb · ")
    assert [line for line in lines[: report - 2] if line != "straight"] == [
        str(tmp_path),
        "Writing near.py",
        "42",
        "'shell!'",
        "'-f'",
        "'shown'",
    ]


def test_an_error_in_a_cell_ends_the_run_with_its_traceback(tmp_path: Path) -> None:
    done = run(
        tmp_path, "print('before')", "def f():\n    return 1 / 0\nf()", "print('after')", options=("--capture", "c")
    )
    assert done.returncode == 4
    assert "before\n" in done.stdout and "after" not in done.stdout
    assert f"{tmp_path.name}/a.ipynb:cell 2\n" in done.stderr
    assert "ZeroDivisionError: division by zero" in done.stderr and "\x1b" not in done.stderr
    assert "The program failed with ZeroDivisionError.\nZeroDivisionError: division by zero\n" in done.stdout
    assert "a.ipynb:cell 2:3 in <module>\n" in done.stdout and "a.ipynb:cell 2:2 in f\n" in done.stdout
    records = [json.loads(line) for line in (tmp_path.parent / "c").read_text().splitlines()]
    (ended,) = [record for record in records if record["kind"] == "exit"]
    assert ended["error"] == "ZeroDivisionError: division by zero"


def test_an_error_that_a_tag_expects_is_shown_and_the_run_continues(tmp_path: Path) -> None:
    document = json.loads(notebook("1 / 0", "print('after')"))
    document["cells"][0]["metadata"] = {"tags": ["raises-exception"]}
    (tmp_path / "a.ipynb").write_text(json.dumps(document))
    done = probe(tmp_path, f"{tmp_path.name}/a.ipynb")
    assert done.returncode == 0, done.stderr
    assert "after\n" in done.stdout and "ZeroDivisionError" in done.stderr


@pytest.mark.parametrize(
    ("cell", "status"), [("import sys; sys.exit()", 0), ("raise SystemExit(0)", 0), ("import sys; sys.exit(3)", 4)]
)
def test_a_cell_can_end_the_run(tmp_path: Path, cell: str, status: int) -> None:
    done = run(tmp_path, cell, "print('after')")
    assert (done.returncode, "after" in done.stdout) == (status, False)


def test_a_kernel_that_dies_is_an_error(tmp_path: Path) -> None:
    done = run(tmp_path, "import os\nprint('first')", "os._exit(3)", "print('after')")
    assert done.returncode == 4
    assert "first\n" in done.stdout and "after" not in done.stdout
    assert "gpulint: the notebook's kernel died\n" in done.stderr


def test_a_notebook_that_takes_too_long_is_stopped_with_its_kernel(tmp_path: Path) -> None:
    cell = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)"
    done = run(tmp_path, cell, options=("--timeout", "25", "--capture", "c"))
    assert done.returncode == 124
    assert "The program was stopped (timeout)." in done.stdout
    assert "time.sleep" in cell and "ipykernel" in (tmp_path.parent / "c.stacks").read_text()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_notebook_in_which_nothing_moves_is_stopped(tmp_path: Path) -> None:
    done = run(tmp_path, "import time\ntime.sleep(600)", options=("--hang-after", "8"))
    assert done.returncode == 124
    assert "The program was stopped (hang)." in done.stdout


def test_what_cannot_be_run_is_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("torn.ipynb").write_text('{"cells": [')
    Path("r.ipynb").write_text(notebook("x <- 1", metadata={"kernelspec": {"name": "ir", "language": "R"}}))
    Path("a.ipynb").write_text(notebook("x = 1"))
    cases = [
        (Target("torn.ipynb"), "torn.ipynb:1:12: not a notebook: Expecting value"),
        (Target("r.ipynb"), "r.ipynb: its kernel is r; only Python 3 can be probed"),
        (Target("a.ipynb", arguments=("--lr",)), "a.ipynb: a notebook takes no arguments"),
    ]
    for target, message in cases:
        with pytest.raises(UserError) as caught:
            probing.require_program(target)
        assert caught.value.message == message
    monkeypatch.setattr(probing, "find_spec", lambda name: None if name == "nbclient" else object())
    with pytest.raises(UserError) as caught:
        probing.require_program(Target("a.ipynb"))
    needed = "nbclient to be run: pip install ipykernel nbclient nbformat"
    assert caught.value.message == f"a.ipynb: a notebook needs {needed}"


# ------------------------------------------------------------------------------- places


def cells_of(*texts: str) -> tuple[Cells, Places]:
    places = Places()
    return Cells(read_notebook("/p/a.ipynb", notebook(*texts).encode()), places), places


def test_code_is_that_of_the_cell_that_says_the_same() -> None:
    cells, places = cells_of("md:# t", "\n\nx = 1\ny = 2", "!a \\\n  b\nz = 3", "x = 1")
    cells.compiled("/tmp/k/1.py", "\n\nx = 1\ny = 2")
    cells.compiled("/tmp/k/2.py", "!a \\\n  b\nz = 3")
    assert places.at("/tmp/k/1.py", 2) == ("/p/a.ipynb", 4, 1)
    assert places.at("/tmp/k/2.py", 2) == ("/p/a.ipynb", 3, 2)
    assert not places.is_foreign("/tmp/k/1.py")


def test_two_cells_with_the_same_text_are_distinguished_as_they_run() -> None:
    cells, places = cells_of("f()", "g()", "f()")
    cells.compiled("/tmp/k/1.py", "f()")
    assert places.at("/tmp/k/1.py", 1) == ("/p/a.ipynb", 1, 0)
    cells.compiled("/tmp/k/2.py", "g()")
    cells.compiled("/tmp/k/1.py", "f()")
    assert places.at("/tmp/k/1.py", 1) == ("/p/a.ipynb", 1, 2)


def test_the_body_of_a_magic_is_in_its_cell() -> None:
    cells, places = cells_of("# a\n%%capture\nx = 1\ny = 2", "%%time\nz = 3", "w = 4")
    cells.compiled("/tmp/k/1.py", "# a\n%%capture\nx = 1\ny = 2")
    cells.compiled("/tmp/k/2.py", "x = 1\ny = 2\n")
    assert places.at("/tmp/k/2.py", 2) == ("/p/a.ipynb", 4, 0)
    assert places.is_foreign("<timed exec>")
    cells.compiled("/tmp/k/3.py", "%%time\nz = 3")
    assert places.at("<timed exec>", 1) == ("/p/a.ipynb", 2, 1)
    cells.compiled("/tmp/k/4.py", "w = 4")
    assert places.is_foreign("<timed exec>")


def test_a_place_in_a_cell_is_shown_as_such_and_has_a_row_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook("md:# t", "x = 1\ny = 2"))
    where = Where(str(path), 2, 1)
    assert located(where).endswith("a.ipynb:cell 2:2")
    assert path.read_text().split("\n")[row_in_file(where) - 1] == '    "y = 2"'
    assert row_in_file(Where(str(tmp_path / "gone.ipynb"), 2, 1)) == 1


def test_a_capture_is_reported_when_its_notebook_is_broken_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a long path would wrap the line
    broken = tmp_path / "a.ipynb"
    broken.write_text("{")
    start = {"kind": "start", "t": 0, "version": 1, "command": []}
    process = {"kind": "process", "t": 0, "pid": 1, "python": "3", "main": str(broken)}
    end = {"kind": "end", "t": 1, "status": 0, "signal": None, "reason": "exit", "seconds": 1}
    (tmp_path / "c").write_text("".join(f"{json.dumps(one)}\n" for one in (start, process, end)))
    done = CliRunner().invoke(main, ["probe", "--isolated", "-v", "--replay", str(tmp_path / "c")])
    assert done.exit_code == 0, done.output
    assert "GPU001 not a notebook" in done.stdout


# ------------------------------------------------------------------------- with TensorFlow

TRAINING = [
    "md:# Two replicas",
    "\nimport tensorflow as tf\n\ncpu, = tf.config.list_physical_devices('CPU')\n"
    "tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)",
    "%%writefile net.py\nimport tensorflow as tf\n\n\ndef build():\n"
    "    return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8)])",
    "from net import build\nstrategy = tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1'])\nmodel = build()",
    "with strategy.scope():\n    inside = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])\n"
    "    optimizer = tf.keras.optimizers.SGD()",
    "def forward(x):\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(inside(x) ** 2)\n"
    "    variables = inside.trainable_variables\n"
    "    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))\n\n\n"
    "@tf.function\ndef step(x):\n    strategy.run(forward, (x,))",
    "!echo a \\\n  b\n%time step(tf.ones((8, 4)))",
    "%%time\nfor _ in range(8):\n    step(tf.ones((8, 4)))",
    "%%capture\nx = tf.ones((8, 4))\ny = tf.linalg.matmul(x, x, transpose_b=True)",
    "def outside(x):\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(x) ** 2)\n"
    "    variables = model.trainable_variables\n"
    "    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))\n\n\n"
    "@tf.function\ndef step_outside(x):\n    strategy.run(outside, (x,))\n\n\n"
    "try:\n    step_outside(tf.ones((8, 4)))\nexcept Exception as error:\n    print(type(error).__name__)",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A real run, and its report."""
    folder = tmp_path_factory.mktemp("notebook").resolve()
    report = folder / "report.json"
    options = ("--output-format", "json", "--output-file", str(report), "--capture", str(folder / "c"))
    done = run(folder, *TRAINING, options=options)
    assert "Wall time" in done.stdout, done.stderr
    assert "Executing op" not in done.stdout + done.stderr  # TensorFlow prints its placement log through the kernel
    content: dict[str, Any] = json.loads(report.read_text())
    assert content["faults"] == []
    return folder, content


@pytest.mark.tensorflow
def test_operations_have_the_cell_and_row_that_ran_them(trained: tuple[Path, dict[str, Any]]) -> None:
    folder, report = trained
    path = str(folder / "a.ipynb")
    seen = {(one["op"], one["filename"], one.get("cell"), one["row"]) for one in report["placements"]}
    assert ("MatMul", path, 8, 3) in seen
    assert ("Fill", path, 6, 3) in seen
    assert ("Fill", path, 7, 3) in seen
    (call,) = [one for one in report["expectations"] if one["expected"] == "takes effect"]
    assert call["origin"] == {"filename": path, "row": 5, "cell": 1}
    (function,) = [one for one in report["functions"] if one["name"] == "step"]
    assert (function["filename"], function["cell"], function["row"]) == (path, 6, 3)


@pytest.mark.tensorflow
def test_nodes_of_functions_have_the_cell_they_were_written_in(trained: tuple[Path, dict[str, Any]]) -> None:
    _, report = trained
    nodes = {
        (one.get("cell"), one["row"]) for one in report["placements"] if one["op"] in ("Mul", "Sum") and "layer" in one
    }
    assert {(5, 3)} <= nodes


@pytest.mark.tensorflow
def test_a_finding_in_a_cell_is_confirmed_by_what_a_written_file_did(trained: tuple[Path, dict[str, Any]]) -> None:
    folder, report = trained
    (found,) = [one for one in report["expectations"] if one["code"] == "GPU201" and one["id"] == "prediction"]
    assert found["origin"] == {"filename": str(folder / "a.ipynb"), "row": 3, "cell": 3}
    assert (found["status"], found["observed"]) == ("fail", "confirmed: variables on CPU:0 only")


@pytest.mark.tensorflow
def test_variables_that_a_written_file_makes_are_in_that_file(trained: tuple[Path, dict[str, Any]]) -> None:
    folder, report = trained
    kernels = [one for one in report["variables"] if one["name"].endswith("kernel")]
    assert {(one["filename"], one["row"], one.get("cell")) for one in kernels} == {
        (str(folder / "net.py"), 5, None),
        (str(folder / "a.ipynb"), 2, 4),
    }


@pytest.mark.tensorflow
def test_a_capture_of_a_notebook_is_reported_again(trained: tuple[Path, dict[str, Any]]) -> None:
    folder, report = trained
    again = folder / "again.json"
    probe(folder, "--replay", str(folder / "c"), "--output-format", "json", "--output-file", str(again))
    assert json.loads(again.read_text())["expectations"] == report["expectations"]
    sarif = folder / "a.sarif"
    probe(folder, "--replay", str(folder / "c"), "--output-format", "sarif", "--output-file", str(sarif))
    rows = [
        result["locations"][0]["physicalLocation"]["region"]["startLine"]
        for result in json.loads(sarif.read_text())["runs"][0]["results"]
        if result["ruleId"] == "GPU201" and "confirmed" in result["message"]["text"]
    ]
    assert ["model = build()" in (folder / "a.ipynb").read_text().split("\n")[row - 1] for row in rows] == [True]


@pytest.mark.tensorflow
def test_a_notebook_is_stopped_after_so_many_steps(tmp_path: Path) -> None:
    done = run(
        tmp_path, *TRAINING[:6], "while True:\n    step(tf.ones((8, 4)))", "print('after')", options=("--steps", "3")
    )
    assert "after" not in done.stdout
    assert "6 steps" in done.stdout
    assert "Traceback" not in done.stderr and done.returncode in (0, 1)


@pytest.mark.tensorflow
def test_the_traceback_of_a_cell_has_frames_of_the_program_and_its_libraries_only(tmp_path: Path) -> None:
    step = "import tensorflow as tf\n\n\n@tf.function\ndef step(x):\n    return tf.matmul(x, x)"
    done = run(tmp_path, step, "step(tf.ones((2, 3)))", options=("--simulate-gpus", "1"))
    assert done.returncode == 4
    assert "cell 2:1 in <module>\n" in done.stdout and "cell 1:6 in step\n" in done.stdout
    assert f"{os.sep}gpulint{os.sep}" not in done.stderr
