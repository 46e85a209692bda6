"""`check --why-not CODE FILE:ROW` names the deciding condition."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpulint.linting.engine import Checker
from gpulint.linting.nearest import MAX_IMPORTERS
from tests.cli.test_check import check

PROGRAM = """import tensorflow as tf

strategy = tf.distribute.{strategy}
data = tf.data.Dataset.from_tensor_slices((tf.zeros((1024, 4)), tf.zeros((1024, 1))))
data = data.batch({size}){comment}
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
model.fit(data)
x = 1
"""

MIRRORED = "MirroredStrategy()"
ONE = 'OneDeviceStrategy("GPU:0")'


def why_not(code: str, row: int, strategy: str = MIRRORED, size: int = 32, comment: str = "", *options: str) -> str:
    Path("train.py").write_text(PROGRAM.format(strategy=strategy, size=size, comment=comment), encoding="utf-8")
    done = check(*options, "--why-not", code, f"train.py:{row}", "train.py")
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_finding_is_there() -> None:
    assert "GPU209 is reported there" in why_not("GPU209", 5)
    assert "GPU209 is reported there" in why_not("batch-not-scaled", 5)


@pytest.mark.parametrize(
    ("strategy", "size", "condition"),
    [(MIRRORED, 4, "TOY <= size.value < LARGE"), (ONE, 32, "strategy.is_multi_replica")],
)
def test_the_part_of_a_condition_that_decided(strategy: str, size: int, condition: str) -> None:
    said = why_not("GPU209", 5, strategy, size)
    assert said.startswith(
        f"train.py:5: GPU209 considered it and left it out: `{condition}` is false (batch_not_scaled.py:"
    )


def test_what_the_names_of_a_condition_stand_for() -> None:
    _, *lines = why_not("GPU209", 5, MIRRORED, 4).splitlines()
    assert lines == [
        "train.py:5: `TOY` is 8: Smaller batches are taken for those of a test",
        "train.py:5: `size.value` is 4",
        "train.py:5: `LARGE` is 1024: From this size on, an eighth of the batch still keeps a GPU busy",
    ]
    (line,) = why_not("GPU209", 5, ONE, 32).splitlines()[1:]
    assert line.startswith("train.py:5: `strategy.is_multi_replica` is False: Whether ")


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("  # the global batch", "an explanation suppresses it: the global batch"),
        ("  # gpulint: ignore[GPU209] demo", "a suppression comment suppresses it: demo"),
    ],
)
def test_a_comment(comment: str, said: str) -> None:
    assert said in why_not("GPU209", 5, comment=comment)


def test_a_finding_in_the_baseline() -> None:
    why_not("GPU209", 5)
    check("train.py", "--baseline", "known.json", "--write-baseline")
    said = why_not("GPU209", 5, MIRRORED, 32, "", "--baseline", "known.json")
    assert "GPU209 is found there, and is in the baseline: " in said


def test_a_row_that_explains_a_finding_elsewhere() -> None:
    assert "train.py:3: it explains the finding of GPU209 on row 5\n" in why_not("GPU209", 3)


@pytest.mark.parametrize("row", [0, 11])
def test_a_row_that_the_file_does_not_have(row: int) -> None:
    assert why_not("GPU209", row) == f"train.py:{row}: the file has only 10 rows\n"


def test_the_settings() -> None:
    assert "GPU002 is off: it is off by default" in why_not("GPU002", 5)
    assert "GPU209 is off: it is not selected" in why_not("GPU209", 5, MIRRORED, 32, "", "--ignore", "GPU209")
    ignored = ("--per-file-ignores", "train.py:GPU209")
    assert "`per-file-ignores` turns GPU209 off" in why_not("GPU209", 5, MIRRORED, 32, "", *ignored)


def test_nothing_happens_there() -> None:
    assert "the analysis saw nothing happen on this row" in why_not("GPU209", 10)
    said = why_not("GPU102", 3)
    assert "on this row: " in said and "StrategyBuilt" in said and "graph mode" not in said


def test_the_row_runs_in_graph_mode() -> None:
    text = """import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32)
with tf.device("/gpu:0"):
    y = x + 1
with tf.Session() as session:
    session.run(y, {x: 1})
"""
    Path("train.py").write_text(text, encoding="utf-8")
    said = check("--why-not", "GPU102", "train.py:5", "train.py").stdout
    assert "train.py:5: it runs in TensorFlow 1's graph mode, which GPU102 leaves out" in said


def test_the_release_is_not_known() -> None:
    Path("train.py").write_text("import tensorflow as tf\n\ntf.keras.optimizers.Adam(lr=0.1)\n", encoding="utf-8")
    said = check("--why-not", "GPU901", "train.py:3", "train.py").stdout
    assert "GPU901 depends on the TensorFlow release" in said


HELPER = """import tensorflow as tf


def batched(data, size):
    return data.batch(size)
"""

CALLER = """import tensorflow as tf
from helper import batched

strategy = tf.distribute.MirroredStrategy()
data = batched(tf.data.Dataset.from_tensor_slices((tf.zeros((1024, 4)), tf.zeros((1024, 1)))), 32)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
model.fit(data)
"""


def test_without_paths_the_file_and_its_importers_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("helper.py").write_text(HELPER)
    Path("sub").mkdir()
    Path("train.py").write_text(CALLER)
    Path("sub/other.py").write_text(PROGRAM.format(strategy=MIRRORED, size=32, comment="  # not a helper"))
    checked: list[str] = []

    def examined_by(self: Checker, examine: object, paths: list[str], *_: object) -> list[object]:
        checked.extend(paths)
        return []

    monkeypatch.setattr(Checker, "_examined_by", examined_by)
    check("--why-not", "GPU209", "helper.py:5")
    assert [Path(path).name for path in checked] == ["helper.py", "train.py"]
    check("--why-not", "GPU209", "helper.py:5", "sub")
    assert [Path(path).name for path in checked[2:]] == ["other.py", "helper.py"]


def test_what_an_importer_does_with_the_row_counts() -> None:
    Path("helper.py").write_text(HELPER)
    Path("train.py").write_text(CALLER)
    assert "GPU209" in check("--why-not", "GPU209", "helper.py:5").stdout
    assert (
        check("--why-not", "GPU209", "helper.py:5").stdout
        != check("--why-not", "GPU209", "helper.py:5", "helper.py").stdout
    )


def test_the_nearest_of_many_importers_are_checked() -> None:
    Path("helper.py").write_text(HELPER)
    for number in range(MAX_IMPORTERS + 1):
        Path(f"a{number}.py").write_text("import helper\n\nhelper.batched\n" + "import tensorflow\n")
    assert (
        f"checked with {MAX_IMPORTERS} of the files that import it"
        in check("--why-not", "GPU209", "helper.py:5").stderr
    )


def test_a_cell_of_a_notebook() -> None:
    first, rest = PROGRAM.format(strategy=MIRRORED, size=32, comment="").split("\n\n")
    cells = [first, f"%time y = 1\n{rest}"]
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    notebook = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    Path("a.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    (found,) = [line for line in check("--output-format", "concise").stdout.splitlines() if "GPU209" in line]
    place = found.partition(": ")[0]
    assert place == "a.ipynb:cell 2:4:8"
    assert "GPU209 is reported there" in check("--why-not", "GPU209", place).stdout
    assert "GPU209 is reported there" in check("--why-not", "GPU209", "a.ipynb:cell 2:4").stdout
    assert (
        "explains the finding of GPU209 on row 4 of cell 2" in check("--why-not", "GPU209", "a.ipynb:cell 2:2").stdout
    )
    assert "ModelFitted" in check("--why-not", "GPU304", "a.ipynb:cell 2:8").stdout
    for other in ("a.ipynb:cell 2:11", "a.ipynb:cell 2:0", "a.ipynb:cell 3:1", "a.ipynb:cell 0:1", "a.ipynb:cell 1:2"):
        assert "no such cell of Python, or the cell no such row" in check("--why-not", "GPU209", other).stdout, other


def test_a_place_with_a_column() -> None:
    why_not("GPU209", 5)
    assert "GPU209 is reported there" in check("--why-not", "GPU209", "train.py:5:8").stdout


@pytest.mark.parametrize(
    ("code", "place"),
    [
        *(("GPU999", "train.py:3"), ("GPU209", "train.py"), ("GPU209", "no.py:1")),
        *(("GPU209", "a.ipynb:3"), ("GPU209", "train.py:cell 1:3"), ("GPU209", "a.ipynb:cell one:3")),
    ],
)
def test_a_question_that_makes_no_sense(code: str, place: str) -> None:
    Path("train.py").write_text("", encoding="utf-8")
    done = check("--why-not", code, place)
    assert done.exit_code == 2 and "--why-not: " in done.stderr
    assert ("no.py: no such file" in done.stderr) == (place == "no.py:1")


def test_a_place_in_a_markdown_file() -> None:
    program = PROGRAM.format(strategy=MIRRORED, size=32, comment="")
    Path("guide.md").write_text(f"# Guide\n\n```python\n{program}```\n\nThe end.\n", encoding="utf-8")
    assert "GPU209 is reported there" in check("--extension", "md", "--why-not", "GPU209", "guide.md:8").stdout
    outside = check("--extension", "md", "--why-not", "GPU209", "guide.md:16").stdout
    assert outside == "guide.md:16: the row is in none of the file's Python blocks\n"
    assert "--extension md" in check("--why-not", "GPU209", "guide.md:8").stdout


def test_a_place_in_a_script_without_a_suffix() -> None:
    why_not("GPU209", 5)
    Path("train.py").rename("train")
    assert "GPU209 is reported there" in check("--why-not", "GPU209", "train:5").stdout


def test_a_finding_about_the_whole_file_takes_its_place() -> None:
    text = """import tensorflow as tf


def crop(image):
    offset = tf.random_uniform((2,), 0, 8)
    return tf.to_float(image) + tf.random_normal((8,)) + offset


def make(images):
    return tf.data.Dataset.from_generator(lambda: (image for image in images), tf.float32).map(crop).batch(64)
"""
    Path("data.py").write_text(text, encoding="utf-8")
    calls = """import tensorflow as tf
from data import make

model = tf.keras.models.load_model("a.keras")
model.fit(make(read()))
"""
    Path("train.py").write_text(calls, encoding="utf-8")
    done = check("--target-tensorflow", "2.21", "--why-not", "GPU404", "data.py:10", ".")
    assert "GPU901 on row 5 is about the whole file and takes the place of all other findings" in done.stdout


def test_the_events_that_a_rule_looks_at_include_those_of_its_queries() -> None:
    Path("train.py").write_text(
        "import tensorflow as tf\n\nmodel = tf.keras.models.load_model('a.keras')\nmodel.fit(x)\n"
    )
    done = check("--why-not", "GPU503", "train.py:3", "train.py")
    assert "ModelFitted" in done.stdout
