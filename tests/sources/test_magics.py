"""Magics, shell lines and help queries (`x?`) are masked, and nothing else moves."""

from __future__ import annotations

import ast
from typing import NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpulint.sources.magics import code_of, compiled_rows
from gpulint.sources.notebook import read_notebook
from tests.notebooks import NOTEBOOKS
from tests.programs import programs


class Piece(NamedTuple):
    """Lines of a cell; the masked cell keeps every character of Python lines in place."""

    text: str
    is_python: bool


PYTHON = [
    "x = 1",
    "y = a % b  # %time?",
    "z = f(1,\n  %s\n)".replace("%s", "2 %\n  3"),
    's = """\n%magic\n!ls\nwhy?\n"""',
    "t = '''a''' 'b' \"c\\\"\" r'\\d'",
    "u = 1 + \\\n  2",
    "if x != 1:\n    print('a=%s' % x, '! ?')",
    "d = {'a': '}', \"b\": [1]}",
    "def f(a, *b, c=1):\n    '''%doc?'''\n    return a @ b",
    "await g()",
    "",
    "# !comment \\",
    "w = f'{x!r:>{y}} ?'",
]
MAGIC = [
    "%matplotlib inline",
    "%load_ext autoreload",
    "!ls -l 'it",
    "!pip install a \\\n  b \\\n  c",
    "!!nvidia-smi",
    "?f",
    "f?",
    "tf.keras.Model??",
    "h = !ls (",
    "h.a[0] = %pwd",
    "a, b = !date",
    "%time x = f(1)",
    "%timeit -n 10 -r 3 f(x)",
    "%prun f(",
    "k = %time f(1)",
    "%env A=1",
    "%env A $B",
    "%cd ..",
    ";f a b",
    "if x:\n    %pip install y\n    !ls",
]
PIECES = st.sampled_from([Piece(text, True) for text in PYTHON] + [Piece(text, False) for text in MAGIC])


def masked(text: str) -> str:
    code = code_of(text)
    assert code is not None
    return "\n".join(["if 1:", *code.lines] if code.in_block else code.lines)


def is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@given(st.lists(PIECES, max_size=8))
def test_python_stays_in_its_place_and_the_rest_becomes_python(pieces: list[Piece]) -> None:
    text = "\n".join(piece.text for piece in pieces)
    code = code_of(text)
    assert code is not None
    if len([line for line in text.split("\n") if line.strip()]) > 1:
        assert is_python("\n".join(code.lines))
    assert len(code.lines) == text.count("\n") + 1
    row = 0
    for piece in pieces:
        count = piece.text.count("\n") + 1
        if piece.is_python:
            assert "\n".join(code.lines[row : row + count]) == piece.text
        row += count


@given(st.lists(PIECES, min_size=1, max_size=8))
def test_ipython_agrees(pieces: list[Piece]) -> None:
    """IPython takes the same cells as Python, and compiled rows are those of the cell."""
    transformer = pytest.importorskip("IPython.core.inputtransformer2").TransformerManager()
    # IPython treats all rows from a bracket in a shell line to a `?` as a help query: none of them runs.
    is_open = any(piece.text.count("(") > piece.text.count(")") for piece in pieces if not piece.is_python)
    assume(not is_open or not any(piece.text.rstrip().endswith("?") for piece in pieces))
    text = "\n".join(piece.text for piece in pieces)
    theirs = transformer.transform_cell(text)
    assert is_python(theirs) == is_python(masked(text))
    rows = compiled_rows(text)
    if not is_python(theirs):
        return
    ours = masked(text).split("\n")
    for line, row in zip(theirs.split("\n"), rows, strict=False):
        if ours[row - 1] == text.split("\n")[row - 1]:
            assert ours[row - 1] == line


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_a_program_without_magics_stays_as_it_is(program: object) -> None:
    for _, text in program.modules:  # type: ignore[attr-defined]
        assert masked(text) == text


@given(st.text(alphabet="ab=%!?'\"\\([{}])#\n ,;/.:-", max_size=60))
def test_any_text_has_as_many_lines_as_before(text: str) -> None:
    code = code_of(text)
    if code is not None:
        assert len(code.lines) + code.skipped == text.count("\n") + 1
        if is_python(text) and not code.file:
            assert "\n".join(code.lines) == text


@pytest.mark.parametrize("magic", ["bash", "html", "javascript", "sql --x y", "R -o z", "writefile_and_run a.py"])
def test_a_cell_in_another_language_is_no_code(magic: str) -> None:
    assert code_of(f"\n# form\n%%{magic}\nls | x") is None


@pytest.mark.parametrize("magic", ["time", "timeit -n 3", "capture out", "prun", "capture\n%%time"])
def test_the_body_of_a_measuring_magic_is_code(magic: str) -> None:
    above = magic.count("\n") + 1
    code = code_of(f"%%{magic}\nx = 1\n!ls\ny?")
    assert code is not None
    assert code.lines == (*[""] * above, "x = 1", "pass", "pass")


@pytest.mark.parametrize(
    ("first", "file", "appends"),
    [
        ("%%writefile a/b.py", "a/b.py", False),
        ("%%writefile -a b.py", "b.py", True),
        ("%%file 'b.py'", "b.py", False),
        ("%writefile b.py", "b.py", False),
    ],
)
def test_a_cell_that_writes_a_file_is_that_file(first: str, file: str, appends: bool) -> None:
    code = code_of(f"{first}\n%x\nimport a")
    assert code is not None
    assert (code.lines, code.skipped, code.file, code.appends) == (("%x", "import a"), 1, file, appends)


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("%time x = f()", "if 1 :x = f()"),
        ("if x:\n  %timeit -n 10 f()", "if x:\n  if 1         :f()"),
        ("%time for x in y: pass", "pass"),
        ("y = %time f()", "y =       f()"),
        ("y = %timeit -o f()", "y =            f()"),
        ("y = !ls", "y = get_ipython()"),
        ("%env A = b c", "import os as _os; _os.environ['A'] = 'b c'"),
        ("%set_env A 1", "import os as _os; _os.environ['A'] = '1'"),
        ("%env A=$B", "import os as _os; _os.environ['A'] = get_ipython()"),
        ("%env A=", "import os as _os; _os.environ['A'] = ''"),
        ("%env A", "pass"),
        ("%env", "pass"),
        ("print('x=%d' % 3)", "print('x=%d' % 3)"),
        ("%%time?", "pass"),
    ],
)
def test_a_line_becomes(line: str, becomes: str) -> None:
    assert masked(f"{line}\nlast") == f"{becomes}\nlast"


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("pip install -q x", ""),
        ("  ls -l /", ""),
        ("cd = 3", "cd = 3"),
        ("time -x", "time -x"),
        ("%sql SELECT 1\nx = 1", "pass\nx = 1"),
        ("  # pasted\n  x = 1\n  if x:\n    y", "if 1:\n  # pasted\n  x = 1\n  if x:\n    y"),
        (">>> x = 1\n>>> for y in z:\n...     y", "if 1:\n    x = 1\n    for y in z:\n        y"),
        ("...", "..."),
        ("...\nx = 1", "...\nx = 1"),
    ],
)
def test_a_cell_becomes(cell: str, python: str) -> None:
    assert masked(cell) == python


def test_a_magic_of_databricks_has_one_percent_sign() -> None:
    assert code_of("%sql\nSELECT *\nFROM x") is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_every_cell_of_a_real_notebook_becomes_python(path: object) -> None:
    for cell in read_notebook(str(path), path.read_bytes()).cells:  # type: ignore[attr-defined]
        if cell.is_code and (code := code_of(cell.text)) is not None and not code.file:
            assert is_python(masked(cell.text))
