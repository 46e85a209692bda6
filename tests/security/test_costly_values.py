"""Programs whose literals make single operations take minutes, or gigabytes: 20 s and 1 GB are enough for each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.processes import gpulint_within

IMPORT = "import tensorflow as tf\n"
FINDING = "with tf.device('/gpu:0'):\n    x = tf.ones(2)\n"
ROWS = 3_000

LONG = f"x = '{'f' * 800_000}'\n"
LARGE = f"x = 0x{'f' * 800_000}\n"
TABLE = f"x = [{','.join('1' * 100_000)}]\n"
NAMES = f"x = {{{','.join(f'{number}: 1' for number in range(15_000))}}}\n"


def rows(text: str) -> str:
    """A statement many times, `#` being another number in each."""
    return "".join(f"{text.replace('#', str(number))}\n" for number in range(ROWS))


STRINGS = {
    "a field of bytes as wide as memory": rows("y# = b'%900000000d' % 1"),
    "texts in between": f"x = '{'f' * 5_000}'\nz = '{'a' * 4_900}'\n{rows('y# = x.replace(str(), z)')}",
    "texts instead": f"x = '{'f' * 5_000}'\nz = '{'a' * 4_900}'\n{rows('''y# = x.replace('f', z)''')}",
    "one text in many fields": f"x = '{'{0}' * 3_300}'\nz = '{'a' * 9_900}'\n{rows('y# = x.format(z)')}",
    "one text in many fields of a dict": f"x = '{'%(a)s' * 1_600}'\nz = {{'a': '{'a' * 9_900}'}}\n{rows('y# = x % z')}",
    "many words": f"x = '{'f ' * 4_900}'\n{rows('y# = x.split()')}",
    "long texts joined": f"x = ['{'f' * 9_000}'] * 256\n{rows('y# = str().join(x)')}",
    "what a long text lacks": f"{LONG}z = '{'f' * 300}b'\n{rows('y# = z in x')}",
    "parts of a long text": f"{LONG}{rows('y# = x[1:]')}",
}
NUMBERS = {
    "a quotient": f"x = 0x{'f' * 4_000_000} // 0x{'e' * 2_000_000}\n",
    "a remainder": f"x = 0x{'f' * 4_000_000} % 0x{'e' * 2_000_000}\n",
    "negatives": f"{LARGE}{rows('y# = -x')}",
    "sums": f"{LARGE}{rows('y# = x + 1')}",
}
CONTAINERS = {
    "a table in loops": f"for i in range(200):\n for j in range(200):\n  {TABLE}",
    "parts of a table": f"{TABLE}{rows('y# = x[1:]')}",
    "a table reversed": f"{TABLE}{rows('x.reverse()')}",
    "a table that shrinks": f"{TABLE}{rows('x.pop()')}",
    "a table that changes": f"{TABLE}{rows('x[0] = #')}",
    "numbered rows": f"{TABLE}{rows('y# = enumerate(x)')}",
    "pairs": f"{TABLE}{rows('y# = zip(x, x)')}",
    "what a table lacks": f"{TABLE}{rows('y# = 2 in x')}",
    "equal tables": f"{TABLE}z = [{','.join('1' * 100_000)}]\n{rows('y# = z == x')}",
    "items": f"{NAMES}{rows('y# = x.items()')}",
    "copies of a dict": f"{NAMES}{rows('y# = {**x}')}",
    "keywords": f"{NAMES}def f(**k): pass\n{rows('f(**x)')}",
}


@pytest.mark.parametrize("programs", [STRINGS, NUMBERS, CONTAINERS], ids=["strings", "numbers", "containers"])
def test_every_program_is_analysed(programs: dict[str, str], tmp_path: Path) -> None:
    for name, text in programs.items():
        (tmp_path / f"{name.replace(' ', '_')}.py").write_text(IMPORT + text + FINDING)
    (tmp_path / "main.py").write_text(IMPORT + FINDING)
    limits = ["--config", "max-file-seconds=20", "--config", "max-file-memory=1000"]
    run = gpulint_within(120, "check", "--no-cache", "--output-format", "concise", *limits, ".", cwd=tmp_path)
    assert "main.py:2:6" in run.stdout and run.returncode == 1, run.stderr
    assert "GPU001" not in run.stdout and "internal error" not in run.stderr, run.stdout[:2_000] + run.stderr


MARKS = "a" + "\u0301\u0316" * 150_000


def test_names_and_encodings_take_no_quadratic_time(tmp_path: Path) -> None:
    (tmp_path / "name.py").write_text(f"{IMPORT}{MARKS} = 1\n{FINDING}", encoding="utf-8")
    (tmp_path / "other.py").write_text(f"x.{MARKS} = 1\n", encoding="utf-8")
    (tmp_path / "comment.py").write_text(f"{IMPORT}# {MARKS}\n{FINDING}", encoding="utf-8")
    (tmp_path / "host.py").write_text(f"# coding: -punycode\n{IMPORT}#{'a' * 2_000_000}-{'b' * 2_000_000}\n")
    limits = ["--config", "max-file-seconds=20", "--config", "max-file-memory=1000"]
    run = gpulint_within(120, "check", "--no-cache", "--output-format", "concise", *limits, ".", cwd=tmp_path)
    places = set(re.findall(r"(\w+\.py):\d+:\d+: \w+\[(\w+)\]", run.stdout))
    assert places == {("name.py", "GPU101"), ("comment.py", "GPU101"), ("host.py", "GPU001")}, run.stdout + run.stderr
    assert "-punycode is not a text encoding" in run.stdout
