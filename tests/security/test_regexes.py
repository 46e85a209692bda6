"""Texts that take hours to read if a regular expression backtracks: gpulint's time is linear in their length."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import PATIENCE, gpulint_within

IMPORT = "import tensorflow as tf\n"
FINDING = "with tf.device('/gpu:0'):\n    x = tf.ones(2)\n"
"""A finding of GPU101, at 1:6."""


def notebook(*cells: str) -> str:
    code = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": code})


def reexports() -> dict[str, str]:
    """Modules that import a name from each other, twelve times each."""
    chain = {f"m{number}.py": f"from m{number + 1} import x\n" * 12 for number in range(8)}
    return {**chain, "m8.py": "def x(): return 1\n", "train.py": f"{IMPORT}from m0 import x\n{FINDING}x()\n"}


def fallbacks() -> str:
    """Sixty nested `try` statements, each with another import in its handler."""
    inside = "".join(f"{' ' * depth}try:\n" for depth in range(60)) + f"{' ' * 60}import version\n"
    return inside + "".join(
        f"{' ' * depth}except ImportError:\n{' ' * depth} import b\n" for depth in range(59, -1, -1)
    )


ATTACKS = {
    "comment with many signs": {"a.py": f"{IMPORT}# gpu{'#a ' * 60_000}\n"},
    "blank rows": {"a.py": f"{IMPORT}tf.get_variable('a')\n{chr(10) * 150_000}"},
    "blanks in an import": {"a.py": "import b\n\nb.f()\n", "b.py": f"import{' ' * 200_000}a\n"},
    "blanks before a dollar": {"a.py": f"{IMPORT}# gpulint: ignore[GPU101]\nx ={' ' * 100_000}$\n"},
    "quotes that are escaped": {"a.py": "{}# gpulint: ignore[GPU101]\nx = {}\n".format(IMPORT, "\\'" * 100_000)},
    "long strings without an end": {"a.py": IMPORT + '\\"""\n' * 60_000},
    "quotes in strings": {"a.py": IMPORT + 'x = \'\\"""\'\n' * 15_000},
    "names of characters without an end": {"a.py": "{}x = b'{}'\n{}".format(IMPORT, "\\N{" * 100_000, FINDING)},
    "format with an open brace": {"a.py": "{}tf.device('{{{}'.format(1))\n".format(IMPORT, "a" * 100_000)},
    "long word": {"a.py": f"{IMPORT}tf.get_variable('a')\n{'x' * 100_000} = 1\n"},
    "brackets behind del": {
        "a.py": "{}x = {}{}\ndel({}x)\n{}".format(IMPORT, "[" * 9, "]" * 9, "\n);del(" * 50_000, FINDING)
    },
    "comments that open blocks": {
        "a.py": IMPORT + "if 1:\n    x = 1  # gpulint: disable[GPU101]\n" * 8_000,
    },
    "comments that open and close blocks": {
        "a.py": IMPORT + "# gpulint: disable[GPU101]\n" * 20_000 + "# gpulint: enable[GPU101]\n" * 20_000,
    },
    "comments for the file": {"a.py": IMPORT + "# gpulint: file-ignore[GPU101] all\n" * 3_000 + FINDING * 1_000},
    "one comment with many names": {"a.py": f"{IMPORT}# gpulint: ignore[{','.join(f'x{n}' for n in range(20_000))}]\n"},
    "one function many times": {"a.py": IMPORT + "".join(f"def f(): return w{n}\n" for n in range(60_000))},
    "cases of a match": {"a.py": f"{IMPORT}match x:\n" + "    case [1]: pass\n" * 25_000 + FINDING},
    "one row of statements": {"a.py": IMPORT + "import a;" * 300_000},
    "one import of many names": {"a.py": f"{IMPORT}from a import {', '.join(f'b{n}' for n in range(40_000))}\n"},
    "one name from everywhere": reexports(),
    "fall-backs in fall-backs": {"a.py": f"{IMPORT}tf.get_variable('a')\n", "b.py": fallbacks()},
    "a path that doubles": {
        "a.py": f"{IMPORT}import sys\np0 = 'ab'\n"
        + "".join(f"p{n + 1} = p{n} + p{n}\n" for n in range(60))
        + "sys.path.append(p60)\n"
    },
    "magic with a question": {"a.ipynb": notebook(IMPORT, f"%%{'a' * 100_000}?\n")},
    "pip install": {"a.ipynb": notebook(IMPORT, f"!{'pip install ' * 20_000}\n")},
    "file in many folders": {"a.ipynb": notebook(IMPORT, f"%%writefile {'a/' * 100_000}b.py\n{IMPORT}")},
    "image and blanks": {"Dockerfile": f"FROM{' ' * 200_000}"},
    "image and arguments": {"Dockerfile": f"ARG A={'x' * 400_000}\n{'$A' * 200_000}"},
    "different releases": {"requirements.txt": "".join(f"tensorflow>={n}.1\n" for n in range(3, 50_000))},
    "one long requirement": {"requirements.txt": f"tensorflow{'!=2.1,' * 150_000}"},
    "different releases of Keras": {"requirements.txt": "".join(f"keras>={n}.1\n" for n in range(3, 50_000))},
    "one list many times": {
        "setup.py": "".join(f"'{'./' * (n % 90)}a.txt'\n" for n in range(10_000)),
        "a.txt": "tensorflow==2.1\n" * 10_000,
    },
    "constants in setup.py": {"setup.py": f"A = '{'x' * 400_000}'\n{'{A}' * 150_000}"},
    "releases in an image": {"Dockerfile": "".join(f"tensorflow>={n}.1 " for n in range(3, 40_000))},
}


@pytest.mark.parametrize("name", ATTACKS)
def test_hostile_texts_take_no_longer_than_others(name: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    files = {"main.py": IMPORT + FINDING, **ATTACKS[name]}
    for file, text in files.items():
        (project / file).write_text(text, encoding="utf-8")
    run = gpulint_within(60, "check", "--no-cache", ".", cwd=project)
    assert run.returncode == 1, run.stderr
    assert "main.py:2:6" in run.stdout
    assert len(run.stdout) < 2_000_000


def test_the_time_of_no_pattern_grows_faster_than_the_text() -> None:
    try:
        run = subprocess.run(
            [sys.executable, "-m", "tests.security.pumps"], capture_output=True, timeout=PATIENCE, encoding="utf-8"
        )
    except subprocess.TimeoutExpired as error:
        slow = (error.stdout or b"").decode().splitlines()[-1:]
        pytest.fail(f"the time of this grows faster than the text: {slow}")
    assert run.stdout.endswith("done\n"), run.stderr
