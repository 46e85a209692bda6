"""Files of installed packages are distinguished from the program's own, wherever they are installed."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

import gpulint
from gpulint.probe.agent.libraries import Libraries
from gpulint.probe.capture.records import Where
from tests.probe.agent.test_agent import probed, row_of


def install(folder: Path, name: str, *files: str, record: bool = True) -> None:
    """What `pip install --target` leaves behind."""
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("")
    information = folder / f"{name}-1.0.dist-info"
    information.mkdir(parents=True)
    if record:
        rows = [f"{file},sha256=x,1" for file in (*files, f"{name}-1.0.dist-info/METADATA", "../../bin/tool")]
        (information / "RECORD").write_text("\n".join(rows))
    else:
        (information / "top_level.txt").write_text("\n".join(sorted({file.split("/")[0] for file in files})))


@pytest.mark.parametrize("record", [True, False])
def test_what_was_installed_into_any_folder_of_the_path_is_a_librarys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: bool
) -> None:
    install(tmp_path / "lib", "tensorflow", "tensorflow/python/execute.py", "tensorflow/__init__.py", record=record)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "lib"), "relative", str(tmp_path / "gone")])
    libraries = Libraries()
    assert libraries.has(str(tmp_path / "lib" / "tensorflow" / "python" / "execute.py"))
    assert not libraries.has(str(tmp_path / "lib" / "train.py"))
    assert not libraries.has(str(tmp_path / "train.py"))


def test_a_program_beside_what_was_installed_into_its_folder_is_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "six", "six.py", "keras/api.py")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    libraries = Libraries()
    assert libraries.has(str(tmp_path / "six.py"))
    assert libraries.has(str(tmp_path / "keras" / "api.py"))
    assert not libraries.has(str(tmp_path / "handler.py"))
    assert not libraries.has(str(tmp_path / "keras_models.py"))


def test_modules_that_are_libraries_are_so_without_an_installer(tmp_path: Path) -> None:
    module = ModuleType("tensorflow")
    module.__file__ = str(tmp_path / "out" / "tensorflow" / "__init__.py")
    libraries = Libraries()
    path = str(tmp_path / "out" / "tensorflow" / "python" / "execute.py")
    assert not libraries.has(path)
    libraries.add(module)
    assert libraries.has(path)
    assert not libraries.has(str(tmp_path / "out" / "train.py"))
    assert libraries.has("/usr/lib/python3/dist-packages/numpy/core.py")


READS = """
import tensorflow as tf
from agents import acts
from plots import draws

tensor = tf.ones((2,))
for step in range(4):
    with tf.GradientTape() as tape:
        tape.watch(tensor)
        loss = tf.reduce_sum(tensor)
    tape.gradient(loss, tensor)
    acts(tensor)  # the library's own
    draws(tensor)  # handed over
"""


@pytest.mark.tensorflow
def test_what_a_library_on_tensorflow_reads_is_its_own(tmp_path: Path) -> None:
    """The program can do nothing about it, but about what it hands to others."""
    install(tmp_path / "lib", "agents", "agents.py")
    install(tmp_path / "lib", "plots", "plots.py")
    (tmp_path / "lib" / "agents.py").write_text(
        "import tensorflow as tf\n\n\ndef acts(x):\n    return tf.add(x, 1).numpy()\n"
    )
    (tmp_path / "lib" / "plots.py").write_text("def draws(x):\n    return x.numpy()\n")
    text = f"import sys\nsys.path.append({str(tmp_path / 'lib')!r})\n{READS}"
    _, capture = probed(tmp_path, text)
    program = str(tmp_path / "prog.py")
    assert {one.where for one in capture.reads} == {Where(program, row_of(text, "# handed over"))}


STEP = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])  # model
model.compile("sgd", "mse", run_eagerly=False, jit_compile=False)
model.fit(tf.ones((8, 4)), tf.ones((8, 1)), batch_size=4, verbose=0)  # fit
float(tf.matmul(tf.ones((2, 2)), tf.ones((2, 2)))[0, 0])  # product
"""


@pytest.mark.tensorflow
@pytest.mark.parametrize("installed", [True, False])
def test_tensorflow_in_a_folder_of_its_own_is_blamed_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    found = importlib.util.find_spec("tensorflow")
    assert found is not None and found.origin is not None
    for one in Path(found.origin).parents[1].iterdir():
        if installed or not one.name.endswith((".dist-info", ".pth")):
            (shelf / one.name).symlink_to(one)
    monkeypatch.setenv("PYTHONPATH", f"{shelf}{os.pathsep}{Path(gpulint.__file__).parents[1]}")
    done, capture = probed(tmp_path, STEP, is_warm=False)
    assert done.returncode == 0, done.stderr
    program = str(tmp_path / "prog.py")
    places = [one.where for one in (*capture.executions, *capture.nodes, *capture.variables) if one.where is not None]
    assert {where.path for where in places} == {program}
    assert {where.row for (_, where) in capture.steps if where is not None} == {row_of(STEP, "# fit")}
    assert {one.where.row for one in capture.executions if one.op == "MatMul" and one.where} == {
        row_of(STEP, "# product")
    }
    assert {one.where for one in capture.reads} == {Where(program, row_of(STEP, "# product"))}
