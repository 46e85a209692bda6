"""Programs inside notebooks and Markdown files."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.places import Span
from gpulint.syntax.embedded import Programs, of_markdown, of_notebook
from tests.notebooks import notebook


def of(*cells: str, **metadata: object) -> Programs:
    return of_notebook("/p/a.ipynb", notebook(*cells, metadata=metadata or None).encode())


def row_of(programs: Programs, text: str) -> Span:
    """The cell and the row of the line of the main program that has this text."""
    main = programs.main
    assert main.cells is not None
    row = main.text.split("\n").index(text) + 1
    return main.cells.in_cell(Span(main.path, row, 1, row, len(text) + 1))


def broken(programs: Programs) -> list[tuple[int, int, str]]:
    """(cell, row, message) of each cell that cannot be parsed."""
    found = []
    for source, error in programs.broken:
        assert source.cells is not None
        span = source.cells.in_cell(Span(source.path, error.row, error.column, error.row, error.column))
        found.append((span.cell or 0, span.row, error.message))
    return found


def test_cells_are_one_program_in_order() -> None:
    programs = of("md:# a", "x = 1\ny = 2", "%%bash\nls", "z = 3\n")
    assert [line for line in programs.main.text.split("\n") if line] == ["x = 1", "y = 2", "z = 3"]
    assert row_of(programs, "y = 2") == Span("/p/a.ipynb", 2, 1, 2, 6, 1)
    assert row_of(programs, "z = 3") == Span("/p/a.ipynb", 1, 1, 1, 6, 3)


CELL = st.lists(st.sampled_from(["x = 1", "", "%time f(x)", "if x:\n    y = 2", "!ls", "# a", "  z"]), max_size=4)


@given(st.lists(CELL.map("\n".join), min_size=1, max_size=5))
def test_every_row_of_a_program_is_known_by_its_cell(cells: list[str]) -> None:
    programs = of(*cells)
    main = programs.main
    assert main.cells is not None
    ast.parse(main.text)
    rows = main.text.split("\n")
    bad = {cell for cell, _, _ in broken(programs)}
    for index, text in enumerate(cells):
        (piece,) = [piece for piece in main.cells.pieces if piece.cell == index]
        for row, line in enumerate(text.split("\n"), 1):
            at = piece.row + row - 1
            assert main.cells.in_cell(Span(main.path, at, 1, at, 1))[:3] == ("/p/a.ipynb", row, 1)
            assert rows[at - 1] == ("" if index in bad else line) or line.lstrip().startswith(("%", "!"))


def test_a_cell_that_is_not_python_counts_as_empty() -> None:
    programs = of("x = 1", "a = (\n", "def f(:\n    pass", "y = 2")
    assert [line for line in programs.main.text.split("\n") if line] == ["x = 1", "y = 2"]
    assert broken(programs) == [(1, 1, "'(' was never closed"), (2, 1, "invalid syntax")]


def test_a_cell_cannot_end_what_another_one_began() -> None:
    programs = of("if x:", "    y = 1", "z = (", "1)", "a = 1 \\", "b = 2")
    assert [cell for cell, _, _ in broken(programs)] == [0, 2, 3, 4]


def test_a_span_goes_no_further_than_what_was_written() -> None:
    programs = of("%env A=1")
    main = programs.main
    assert main.cells is not None
    row = main.text.split("\n").index("import os as _os; _os.environ['A'] = '1'") + 1
    assert main.cells.in_cell(Span(main.path, row, 19, row, 40)) == Span("/p/a.ipynb", 1, 9, 1, 9, 0)


def test_a_written_file_is_a_file_with_its_own_rows() -> None:
    programs = of("%%writefile a.py\nx = 1\n", "y = 1", "# goes on\n%%writefile -a a.py\nz = 3")
    (written,) = programs.written
    assert (written.path, written.text, written.file) == ("/p/a.ipynb/a.py", "x = 1\n\nz = 3\n", "/p/a.ipynb")
    assert written.cells is not None
    assert written.cells.in_cell(Span(written.path, 1, 1, 1, 6)) == Span("/p/a.ipynb", 2, 1, 2, 6, 0)
    assert written.cells.in_cell(Span(written.path, 3, 1, 3, 6)) == Span("/p/a.ipynb", 3, 1, 3, 6, 2)
    assert list(programs.folders()) == [("/p/a.ipynb", "a.py")]


def test_a_file_that_is_written_again_is_another_one() -> None:
    programs = of("%%writefile b/a.py\nx = 1", "%%writefile b/a.py\ny = 2", "%%writefile requirements.txt\ntf")
    assert [(source.path, source.text) for source in programs.written] == [
        ("/p/a.ipynb/b/a.py", "y = 2\n"),
        ("/p/a.ipynb/cell 1/b/a.py", "x = 1\n"),
    ]


@pytest.mark.parametrize("name", ["/etc/a.py", "../../a.py", "~/a.py", "$DIR/a.py"])
def test_a_written_file_stays_below_its_notebook(name: str) -> None:
    (written,) = of(f"%%writefile {name}\nx = 1").written
    assert written.path.startswith("/p/a.ipynb/") and written.path.endswith("/a.py") and ".." not in written.path


def test_cells_in_r_are_no_python_that_is_broken() -> None:
    programs = of("x = 1", "data_dir <- file.path('a')\nif (!dir.exists(data_dir)) {\n}", "y = 2")
    assert not programs.broken
    assert [line for line in programs.main.text.splitlines() if line] == ["x = 1", "y = 2"]


def test_a_notebook_for_python_2_is_reported_once() -> None:
    cells = ("print 'a'", "x = 1", "print 'b'")
    programs = of(*cells, kernelspec={"name": "python2"})
    assert [(cell, row) for cell, row, _ in broken(programs)] == [(0, 1)]
    assert programs.broken[0][1].message.startswith("a notebook for Python 2: Missing parentheses")
    assert len(broken(of(*cells))) == 2


def test_a_notebook_in_another_language_is_empty() -> None:
    programs = of("x <- 1", kernelspec={"name": "ir", "language": "R"})
    assert (programs.main.text, programs.broken) == ("", ())


@pytest.mark.parametrize(
    ("cell", "release"),
    [
        ("!pip install tensorflow==2.11.0", "2.11"),
        ("%pip install -q numpy 'tensorflow-gpu == 2.3'", "2.3"),
        ("%%bash\npip3 install tensorflow[and-cuda]~=2.15.1 a==1.0", "2.15"),
        ("!{sys.executable} -m pip install --user tensorflow==1.15", "1.15"),
        ("%tensorflow_version 1.x", "1.15"),
        ("%tensorflow_version 2.x", ""),
        ("!pip install tensorflow-macos==2.9.2 tensorflow-metal==0.5", "2.9"),
        ("!pip install tensorflow-metal==0.5", ""),
        ("!pip install tf-nightly==2.5.0.dev20210101", "2.5"),
        ("!pip install tensorflow", ""),
        ("# pip install tensorflow==2.1", ""),
        ("!pip install tensorflow-datasets==4.9 tensorflow_hub==0.12", ""),
        ("!pip install tensorflow>=2.4", ""),
    ],
)
def test_a_notebook_says_which_tensorflow_it_installs(cell: str, release: str) -> None:
    assert of("x = 1", cell).pinned == release


def test_blocks_of_markdown_stand_where_they_stand() -> None:
    text = "# a\n```python\nx = 1\n```\n- b\n  ```py\n  y = 2\n  !ls\n  ```\n```python\nz = (\n```\n```r\nw <- 1\n```\n"
    programs = of_markdown("a.md", text.encode())
    lines = programs.main.text.split("\n")
    assert [(row, line) for row, line in enumerate(lines, 1) if line] == [
        (3, "x = 1"),
        (6, "if 1:"),
        (7, "  y = 2"),
        (8, "  pass"),
    ]
    assert [(error.row, error.column) for _, error in programs.broken] == [(11, 5)]
