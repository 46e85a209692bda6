"""The other spellings of a program mean the same on the same rows."""

from __future__ import annotations

import ast
import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from gpulint.knowledge.removed import since
from tests import spelling, warm
from tests.programs import Program, programs
from tests.spelling import spellings

PROGRAMS = programs()

SCRIPT = """\
import tensorflow as tf

optimizers = []
model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
with tf.distribute.MirroredStrategy().scope():
    optimizers.append(tf.keras.optimizers.SGD())
"""


def first_line_and_name(rewritten: str | None) -> tuple[str, str]:
    assert rewritten is not None
    lines = rewritten.split("\n")
    return lines[0], lines[3].partition("= ")[2]


@pytest.mark.parametrize(
    ("spelling_name", "imports", "model"),
    [
        (
            "whole_name",
            "import tensorflow",
            "tensorflow.keras.Sequential([tensorflow.keras.layers.Dense(3)])",
        ),
        ("compat_v2", "import tensorflow.compat.v2 as tf", "tf.keras.Sequential([tf.keras.layers.Dense(3)])"),
        (
            "keras_from_tensorflow",
            "import tensorflow as tf; from tensorflow import keras",
            "keras.Sequential([keras.layers.Dense(3)])",
        ),
        ("keras_alone", "import tensorflow as tf; import keras", "keras.Sequential([keras.layers.Dense(3)])"),
        (
            "tensorflow_modules",
            "import tensorflow as tf; from tensorflow import distribute",
            "tf.keras.Sequential([tf.keras.layers.Dense(3)])",
        ),
    ],
)
def test_a_spelling_exchanges_the_import_and_every_use(spelling_name: str, imports: str, model: str) -> None:
    assert first_line_and_name(getattr(spelling, spelling_name)(SCRIPT)) == (imports, model)


def test_a_name_that_the_program_binds_itself_is_not_imported() -> None:
    imports, model = first_line_and_name(spelling.keras_modules(SCRIPT))
    assert imports == "import tensorflow as tf; from tensorflow.keras import layers"
    assert model == "tf.keras.Sequential([layers.Dense(3)])"


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\n",
        "import tensorflow\n",
        "import tensorflow as tf\ntensorflow = 3\n",
        "from tensorflow import keras\n",
    ],
)
def test_a_module_that_cannot_be_respelled_is_left_alone(text: str) -> None:
    assert spelling.whole_name(text) is None


def test_an_import_of_keras_is_exchanged_for_the_other() -> None:
    assert spelling.keras_alone("from tensorflow import keras\nkeras.Input((3,))\n") == (
        "import keras\nkeras.Input((3,))\n"
    )


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_every_spelling_compiles_and_keeps_its_rows(program: Program) -> None:
    for spelled in spellings(program):
        for (path, text), (_, original) in zip(spelled.modules, program.modules, strict=True):
            compile(text, path, "exec")
            assert text.count("\n") == original.count("\n"), spelled.spelling
            for line, before in zip(text.split("\n"), original.split("\n"), strict=True):
                assert line.partition("#")[2] == before.partition("#")[2], spelled.spelling


def _is_gone(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import is of a removed name."""
    module = node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
    parts = f"{module}.{node.names[0].name}".split(".")
    return any(since(".".join(parts[:length])) for length in range(2, len(parts) + 1))


def imports_of_tensorflow() -> set[str]:
    """Each distinct import of TensorFlow or Keras in the programs and their spellings, except of removed names."""
    found = set[str]()
    for program in PROGRAMS:
        for spelled in spellings(program):
            for _, text in spelled.modules:
                for node in ast.walk(ast.parse(text)):
                    if isinstance(node, ast.Import | ast.ImportFrom):
                        statement = ast.unparse(node)
                        if statement.split()[1].partition(".")[0] in {"tensorflow", "keras"} and not _is_gone(node):
                            found.add(statement)
    return found


IMPORTING = """
import json, sys

failed = []
for statement in json.load(sys.stdin):
    names = {}
    try:
        exec(statement, names)
    except ImportError as error:
        failed.append(f"{statement}: {error}")
    else:
        assert len(names) > 1, statement
print(json.dumps(failed))
"""


@pytest.mark.tensorflow
@pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")
def test_tensorflow_has_what_the_spellings_import(tmp_path: Path) -> None:
    statements = sorted(imports_of_tensorflow())
    done = warm.python().run([sys.executable, "-c", IMPORTING], cwd=tmp_path, given=json.dumps(statements))
    assert done.returncode == 0, done.stderr
    assert len(statements) > 20 and json.loads(done.stdout) == []
