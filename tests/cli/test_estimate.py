"""`gpulint estimate`."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from gpulint.cli.estimate import command
from gpulint.cli.estimating import why
from gpulint.cli.probe import command as probe
from gpulint.estimate.report.schema import of_estimate
from gpulint.estimate.tracing import NotTraced
from gpulint.probe.capture.records import Where
from gpulint.probe.launch.command import Target
from tests import warm
from tests.notebooks import notebook

FIT = """
import sys
import numpy as np
import keras
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(2)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
print("arguments", sys.argv[1:])
model.fit(np.zeros((64, 8), "float32"), np.zeros(64, "int32"), batch_size=16, verbose=0)
print("trained")
"""


SESSION = """
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
w = tf.get_variable("w", (10, 1))
loss = tf.reduce_sum(w**2)
train = tf.train.AdamOptimizer().minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print(session.run([loss, {"w": w}]))
    session.run({"step": train, "loss": "Sum:0"})
print("trained")
"""

NO_ELEMENTS = """
import keras
import tensorflow as tf
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
model.compile("sgd", "mse")
data = tf.data.Dataset.from_tensor_slices((tf.zeros((0, 8)), tf.zeros((0, 2))))
model.fit(data.batch(4))
"""

NO_EXAMPLES = """
import keras
import tensorflow as tf
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    return tape.gradient(loss, model.trainable_variables)
step(tf.zeros((0, 8)))
"""

NO_DATA = """
import tensorflow as tf
next(iter(tf.data.TFRecordDataset(["data/train.tfrecord"])))
"""

NEEDS_ARGUMENTS = """
import argparse
parser = argparse.ArgumentParser()
parser.parse_args(["--data"])
"""


def estimate(directory: Path, program: str, *words: str, name: str = "train.py") -> subprocess.CompletedProcess[str]:
    (directory / "train.py").write_text(textwrap.dedent(program), encoding="utf-8")
    command = [sys.executable, "-m", "gpulint", "estimate", *words, *([name] if name else [])]
    return warm.python().run(command, cwd=directory)


@pytest.mark.tensorflow
def test_a_program_is_estimated_and_not_run(tmp_path: Path) -> None:
    written = ("-o", "report.json", "--output-format", "json", "--html", "page.html")
    done = estimate(tmp_path, FIT, "--gpu", "T4,memory=4GiB", "--gpus", "1", *written)
    assert (done.returncode, "trained" in done.stdout) == (0, False), done.stderr
    assert "arguments []" in done.stdout
    found = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    jsonschema.validate(found, of_estimate())
    assert (found["step"]["function"], found["step"]["row"], found["step"]["batch"]) == ("fit", 8, 16)
    assert [one["name"] for one in found["gpus"]] == ["T4", "memory=4GiB"]
    t4 = found["gpus"][0]
    assert t4["memory"]["fits"] == "yes"
    assert 4 * (8 * 4 + 4 + 4 * 2 + 2) < t4["memory"]["steady_peak"] < 1 << 20
    assert t4["memory"]["largest_batch"] > 1000
    assert t4["time"]["active_bound"] == "launch"
    assert [one["gpus"] for one in t4["scaling"]] == [2, 4, 8]
    assert "gpulint estimate" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.tensorflow
def test_a_step_that_does_not_fit_is_status_1(tmp_path: Path) -> None:
    program = FIT.replace("Dense(4)", "Dense(40_000_000)")
    done = estimate(tmp_path, program, "--gpu", "T4,memory=2GiB", "--batch", "64")
    assert done.returncode == 1, done.stderr
    assert "The step does not fit on T4 and memory=2GiB." in done.stdout
    assert "batch 64" in done.stdout


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("program", "status", "line"),
    [
        ("print('nothing')", 3, "train.py ended without a training step: neither `fit` nor a function"),
        ("import keras\nopen('data.csv')", 4, "train.py:2 failed before its first training step: FileNotFoundError: "),
        ("import keras\n1 / 0", 4, "train.py:2 failed before its first training step: ZeroDivisionError"),
        (SESSION, 3, "train.py:10 runs its training step in a TensorFlow 1 session, which cannot be estimated"),
        ("import sys\nsys.exit(7)", 4, "train.py:2 failed before its first training step: SystemExit: 7"),
        (NEEDS_ARGUMENTS, 4, "train.py:4 ended with exit status 2 before its first training step; if it lacks arg"),
        (NO_ELEMENTS, 3, "the step at train.py:7 cannot be read: its dataset has no elements"),
        (NO_EXAMPLES, 3, "the step at train.py:5 cannot be read: its batch has no examples"),
        (NO_DATA, 4, "step: NotFoundError: data/train.tfrecord; No such file or directory; an estimate needs the data"),
        ("import os\nos.kill(os.getpid(), 9)", 4, "train.py failed before its first training step: SIGKILL ended it"),
    ],
)
def test_a_program_without_a_step_is_reported_in_one_line(tmp_path: Path, program: str, status: int, line: str) -> None:
    done = estimate(tmp_path, program)
    assert done.returncode == status
    (said,) = [row for row in done.stderr.splitlines() if row.startswith("gpulint: ")]
    assert line in said


@pytest.mark.tensorflow
def test_a_time_limit_is_status_124(tmp_path: Path) -> None:
    done = estimate(tmp_path, "import time\ntime.sleep(100)", "--timeout", "1")
    assert done.returncode == 124
    assert "train.py was stopped before its first training step (timeout)" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a program"),
        (["missing.py"], "missing.py: no such file"),
        (["--gpu", "A1000", "train.py"], "no GPU is called 'A1000'; did you mean A100-40GB"),
        (["--gpu", "tflops=3", "train.py"], "needs its memory"),
        (["--gpus", "0", "train.py"], "0 is not in the range"),
        (["--batch", "10000000000", "train.py"], "10000000000 is not in the range"),
        (["."], ".: a folder; name a script in it"),
        (["--shape", "x", "train.py"], "'x' is not a shape: write NAME=32,128"),
        (["--shape", "x=0,3", "train.py"], "'x=0,3' is not a shape"),
        (["--html", "missing/page.html", "train.py"], "missing/page.html"),
        (["notes.ipynb"], "notes.ipynb"),
    ],
)
def test_bad_input_is_status_2_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("", encoding="utf-8")
    Path("notes.ipynb").write_text("{", encoding="utf-8")
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 2
    assert message in done.output


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (NotTraced("died", "FileNotFoundError: no x.csv", Where("/p/a.py", 3)), "an estimate needs the data that"),
        (
            NotTraced("no step", "other processes"),
            "was called in its first process; a step in a process that it starts",
        ),
        (NotTraced("died", status=None), "train.py failed before its first training step: a signal ended it"),
        (NotTraced("dynamic", "its batch size", Where("/p/a.py", 3)), "leaves its batch size open; state it with"),
        (NotTraced("eager", "no function", Where("/p/a.py", 3)), "/p/a.py:3 takes gradients eagerly, and cannot be"),
        (NotTraced("untraceable", "ValueError: x", Where("/p/a.py", 3)), "the step at /p/a.py:3 cannot be read: V"),
        (NotTraced("session", where=Where("/p/a.py", 3)), "/p/a.py:3 runs its training step in a TensorFlow 1 session"),
        (NotTraced("refused", "no eager mode"), "GPUs cannot be simulated: no eager mode"),
    ],
)
def test_every_reason_has_its_line(found: NotTraced, line: str) -> None:
    said = why(found, Target("train.py"))
    assert line in said
    assert "\n" not in said


def test_a_missing_module_is_no_missing_data() -> None:
    found = NotTraced("died", "ModuleNotFoundError: No module named 'data'", Where("/p/a.py", 3))
    assert why(found, Target("train.py")).endswith("No module named 'data'")


def test_a_message_is_shown_without_the_stack_in_it_and_not_endless() -> None:
    stack = 'in user code:\n\n    File "train.py", line 3, in step  *\n        model(x)\n\n'
    message = f"ValueError: {stack}    ValueError: \x1b[1mno layer\x1b[0m\n" + "• x\n" * 1000
    said = why(NotTraced("died", message, Where("/p/a.py", 3)), Target("train.py"))
    assert "first training step: ValueError: no layer • x • x" in said
    assert said.endswith(" …") and len(said) < 400


@pytest.mark.tensorflow
def test_a_notebook_is_estimated(tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    model, fit = FIT.split('print("arguments", sys.argv[1:])')
    (tmp_path / "notes.ipynb").write_text(notebook(model, fit), encoding="utf-8")
    done = estimate(tmp_path, "", "--gpu", "T4", name="notes.ipynb")
    assert done.returncode == 0, done.stderr
    assert "The step fits on T4." in done.stdout
    assert "kernel died" not in done.stderr


@pytest.mark.tensorflow
def test_the_probe_estimates_on_a_card_that_is_simulated(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(FIT, encoding="utf-8")
    command = [sys.executable, "-m", "gpulint", "probe", "--simulate-gpus", "2", "--gpu", "T4", "train.py"]
    done = warm.python().run(command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "The step fits on T4." in done.stdout
    assert "2 GPUs: at most" in done.stdout
    assert "trained" not in done.stdout


@pytest.mark.parametrize("words", [[], ["--simulate-gpus", "2", "--output-format", "sarif"]])
def test_the_probe_needs_simulated_gpus_for_a_card(words: list[str]) -> None:
    done = CliRunner().invoke(probe, ["--gpu", "T4", *words, "train.py"])
    assert done.exit_code == 2
    assert "--gpu needs --simulate-gpus N, and reports as text or json" in done.output
