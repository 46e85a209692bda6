"""The folders that programs put on `sys.path`, and what is imported from there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import gpulint
from gpulint.syntax.search_path import folders
from tests.checking import codes_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sys.path.append('..')", [".."]),
        ("sys.path.insert(0, '../lib')", ["../lib"]),
        ("sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))", [".."]),
        ("sys.path.append(os.path.join(os.path.dirname(__file__), '..', 'lib'))", ["../lib"]),
        ("sys.path.insert(1, str(Path(__file__).resolve().parent.parent / 'src'))", ["../src"]),
        ("here = os.path.dirname(__file__)\nsys.path.append(here + '/../lib')", ["../lib"]),
        ("home = os.path.split(os.path.abspath(__file__))[0]\nsys.path.append(home + '/lib')", ["lib"]),
        ("home = os.path.split(__file__)[1]\nsys.path.append(home + '/lib')", []),
        ("sys.path.append(f'{os.path.dirname(__file__)}/lib')", ["lib"]),
        ("sys.path.append(f'{root}/lib')", []),
        ("sys.path.append(str(Path(__file__).resolve().parents[1] / 'lib'))", ["../lib"]),
        ("sys.path.append(str(Path(__file__).resolve().parents[level]))", []),
        ("sys.path.append(os.getcwd())", ["."]),
        ("sys.path.append('/usr/lib/shared')", []),
        ("sys.path.append(os.environ['HOME'] + '/lib')", []),
        ("sys.path.append(folder)", []),
        ("sys.argv.append('..')", []),
    ],
)
def test_folders(text: str, expected: list[str]) -> None:
    assert list(folders(ast.parse(text))) == expected


LOSSES = """
import tensorflow as tf


def made():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model
"""
TRAIN = """
import os
import sys

import tensorflow as tf

sys.path.append(os.path.join(os.path.dirname(__file__), {folder!r}))
from shelf import made

for trial in range(20):
    made().fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
"""


@pytest.mark.parametrize(("folder", "expected"), [("../lib/deep", {"GPU305"}), ("../lib", set())])
def test_a_module_in_a_folder_on_the_path(folder: str, expected: set[str], tmp_path: Path) -> None:
    for name, text in (("lib/deep/shelf.py", LOSSES), ("tools/train.py", TRAIN.format(folder=folder))):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    assert codes_of(gpulint.check_paths([tmp_path])) == expected


def test_a_folder_named_as_seen_from_the_top_of_the_project(tmp_path: Path) -> None:
    text = TRAIN.replace("os.path.join(os.path.dirname(__file__), {folder!r})", "'lib/deep'")
    for name, content in (("lib/deep/shelf.py", LOSSES), ("tools/burgers/train.py", text), ("setup.py", "")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert codes_of(gpulint.check_paths([tmp_path / "tools" / "burgers" / "train.py"])) == {"GPU305"}
