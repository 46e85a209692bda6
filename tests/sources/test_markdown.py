"""The Python blocks of Markdown files, at their rows and columns."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.sources.markdown import python_blocks


def blocks(text: str) -> list[tuple[int, tuple[str, ...]]]:
    return [(block.row, block.lines) for block in python_blocks(textwrap.dedent(text))]


@pytest.mark.parametrize(
    "info",
    ["python", "py", "Python3", 'python title="a.py"', "{.python .input}", "{python}", "{code-cell}", "python,ignore"]
    + ["{code-cell} ipython3"],
)
def test_a_block_that_says_it_is_python_is_one(info: str) -> None:
    assert blocks(f"a\n\n```{info}\nx = 1\ny = 2\n```\n") == [(4, ("x = 1", "y = 2"))]


@pytest.mark.parametrize("info", ["", "bash", "pycon", "{.bash .python}", "python-repl", "{code-cell} julia", "toml"])
def test_other_blocks_are_none(info: str) -> None:
    assert blocks(f"```{info}\nx = 1\n```\n") == []


def test_markup_before_a_line_counts_as_blanks() -> None:
    text = """\
    1. first

       ~~~python
       x = 1

       if x:
           y = 2
       ~~~

    > ```python
    > z = 3
    > ```
    """
    assert blocks(text) == [(4, ("   x = 1", "", "   if x:", "       y = 2")), (11, ("  z = 3",))]


def test_a_block_without_an_end_goes_to_the_end_of_the_file() -> None:
    assert blocks("```python\nx = 1") == [(2, ("x = 1",))]


def test_indented_code_and_inline_code_are_no_blocks() -> None:
    assert blocks("    x = 1\n\nuse `x` or\n\n    ```python\n    y\n    ```\n") == []


@given(st.text(alphabet="`~>py \n\t-1.x\r", max_size=60))
def test_lines_of_blocks_are_those_of_the_file(text: str) -> None:
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for block in python_blocks(text):
        for row, line in enumerate(block.lines, block.row):
            assert (
                line.split() == rows[row - 1].lstrip("> \t-1.").split() or "\t" in text or line.strip() in rows[row - 1]
            )
