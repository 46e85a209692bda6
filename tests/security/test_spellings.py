"""Programs in another spelling than a reader's: what Python reads as TensorFlow is checked, and a comment silences
findings only in the letters that people search for."""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path

import pytest

from gpulint.linting.engine import Checker
from gpulint.linting.selection import Catalogue
from gpulint.settings import Settings, SettingsFinder
from gpulint.sources.spelling import as_read
from tests.checking import PACK, findings_of

PROGRAM = "import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n    x = tf.zeros(4)\n"


def notebook(text: str) -> str:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": text}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})


def codes(directory: Path, name: str, data: bytes) -> list[str]:
    (directory / name).write_bytes(data)
    checker = Checker(SettingsFinder(Settings(root=str(directory))), Catalogue(PACK))
    return [one.code for one in findings_of(checker.check([str(directory / name)]))]


SPELLINGS: dict[str, tuple[str, bytes]] = {
    "ligature": ("a.py", PROGRAM.replace("tensorfl", "tensor\N{LATIN SMALL LIGATURE FL}").encode()),
    "full width": ("a.py", PROGRAM.replace("device", "\N{FULLWIDTH LATIN SMALL LETTER D}evice").encode()),
    "bold": ("a.py", PROGRAM.replace("tensor", "\N{MATHEMATICAL BOLD SMALL T}ensor").encode()),
    "UTF-7": ("a.py", b"# coding: utf-7\n" + PROGRAM.replace("tensorflow", "+AHQ-ensorflow").encode()),
    "escapes": ("a.py", b"# coding: unicode_escape\n" + PROGRAM.replace("tensor", "\\x74ensor").encode()),
    "escapes of JSON": ("a.ipynb", notebook(PROGRAM).replace("tensor", "\\u0074ensor").encode()),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_what_python_reads_is_checked(name: str, tmp_path: Path) -> None:
    assert codes(tmp_path, *SPELLINGS[name]) == ["GPU101"]


@pytest.mark.parametrize("word", ["gpul\u0131nt", "gpul\u0130nt", "\uff47pulint", "gpu\u200blint"])
def test_a_comment_in_other_letters_silences_nothing(word: str, tmp_path: Path) -> None:
    text = PROGRAM.replace("):", f"):  # {word}: ignore[GPU101]")
    assert codes(tmp_path, "a.py", text.encode()) == ["GPU101"]


def test_every_character_that_python_reads_as_ascii_is_known() -> None:
    for character in map(chr, range(128, sys.maxunicode + 1)):
        normal = unicodedata.normalize("NFKC", character)
        if normal.isascii() and f"a{character}".isidentifier():
            assert as_read(f"\u4e2d{character}") == f"\u4e2d{normal}", ascii(character)
