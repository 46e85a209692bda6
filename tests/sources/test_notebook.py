"""Notebook files: their cells, the positions of cells, and what stays the same when a cell is rewritten."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.sources.decoding import Undecodable
from gpulint.sources.notebook import Notebook, read_notebook, with_texts
from tests.notebooks import NOTEBOOKS, notebook

LINES = st.text(alphabet=st.sampled_from('ab="\\ \t%é→🙂\u2028\x0c'), max_size=8)
TEXTS = st.lists(LINES, max_size=5).map("\n".join)


def split(text: str) -> list[str]:
    """Lines as nbformat's `source` has them."""
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [text.split("\n")[-1]] if text else []


@st.composite
def files(draw: st.DrawFn) -> tuple[list[str], bytes]:
    """Texts of cells, and a notebook with them in a layout that tools write."""
    texts = draw(st.lists(TEXTS, min_size=1, max_size=4))
    cells: list[dict[str, Any]] = []
    for text in texts:
        code = draw(st.booleans())
        cell: dict[str, Any] = {"cell_type": "code" if code else "markdown", "metadata": {"source": "a", "é": [1.50]}}
        source: Any = text if draw(st.booleans()) else split(text)
        cells.append({"source": source, **cell} if draw(st.booleans()) else {**cell, "source": source, "outputs": []})
    document = {"metadata": {"cells": "no"}, "nbformat": 4, "cells": cells, "nbformat_minor": 5}
    layout = draw(st.sampled_from([{"indent": 1}, {"indent": 4}, {"indent": "\t"}, {}, {"separators": (",", ":")}]))
    written = json.dumps(document, ensure_ascii=draw(st.booleans()), **layout) + draw(st.sampled_from(["", "\n"]))
    written = written.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return texts, draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + written.encode("utf-8", "surrogatepass")


def read(text: str) -> Notebook:
    return read_notebook("a.ipynb", text.encode())


@given(files())
def test_cells_are_read_whatever_the_layout(made: tuple[list[str], bytes]) -> None:
    texts, data = made
    assert [cell.text for cell in read_notebook("a.ipynb", data).cells] == texts


@given(files(), st.data())
def test_only_the_sources_of_rewritten_cells_change(made: tuple[list[str], bytes], data: st.DataObject) -> None:
    texts, before = made
    read_before = read_notebook("a.ipynb", before)
    new = data.draw(st.dictionaries(st.integers(0, len(texts) - 1), TEXTS))
    after = with_texts(read_before, new)
    read_after = read_notebook("a.ipynb", after)
    assert [cell.text for cell in read_after.cells] == [new.get(index, text) for index, text in enumerate(texts)]
    assert _around(read_before) == _around(read_after), "what stands around the sources"
    for index, text in enumerate(texts):
        if new.get(index, text) == text:
            assert _raw(read_before, index) == _raw(read_after, index)


def _raw(read: Notebook, index: int) -> str:
    cell = read.cells[index]
    return read.text[cell.start : cell.end]


def _around(read: Notebook) -> list[str]:
    ends = [0, *(place for cell in read.cells for place in (cell.start, cell.end)), len(read.text)]
    return [read.text[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)]


@given(files())
def test_a_notebook_of_which_nothing_changes_stays_as_it_was(made: tuple[list[str], bytes]) -> None:
    texts, data = made
    assert with_texts(read_notebook("a.ipynb", data), dict(enumerate(texts))) == data


@given(files(), st.data())
def test_each_character_of_a_cell_is_found_in_the_file(made: tuple[list[str], bytes], data: st.DataObject) -> None:
    texts, written = made
    read = read_notebook("a.ipynb", written)
    index = data.draw(st.integers(0, len(texts) - 1))
    rows = texts[index].split("\n")
    row = data.draw(st.integers(1, len(rows)))
    if not rows[row - 1]:
        return
    column = data.draw(st.integers(1, len(rows[row - 1])))
    wanted = rows[row - 1][column - 1]
    in_row, in_column = read.place(index, row, column)
    rest = read.text.split("\n")[in_row - 1][in_column - 1 :]
    assert rest.startswith((wanted, json.dumps(wanted)[1:-1]))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_real_notebook_keeps_its_outputs_when_a_line_changes(path: Any) -> None:
    data = path.read_bytes()
    read = read_notebook(str(path), data)
    code = next(cell for cell in read.cells if cell.is_code and cell.text.count("\n") > 1)
    after = with_texts(read, {code.index: code.text.replace("\n", "\nprint('é')\n", 1)})
    before_lines, after_lines = data.decode().split("\n"), after.decode().split("\n")
    if isinstance(json.loads(data)["cells"][code.index]["source"], list):
        assert len(after_lines) == len(before_lines) + 1
        assert [line for line in after_lines if line not in before_lines] == [
            line for line in after_lines if "print('é')" in line
        ]
    changed, kept = json.loads(after), json.loads(data)
    changed["cells"][code.index]["source"] = kept["cells"][code.index]["source"]
    assert changed == kept


def test_new_lines_take_over_the_layout_of_the_notebook() -> None:
    before = notebook("a = 1\nb = 2", "")
    after = with_texts(read(before), {0: "a = 1\nc = 3\nb = 2", 1: "x\ny"}).decode()
    assert after == notebook("a = 1\nc = 3\nb = 2", "x\ny")


def test_escapes_stay_as_the_file_has_them() -> None:
    ascii_only = json.dumps(json.loads(notebook("a = 'é'\nb = 1")), indent=1)
    after = with_texts(read(ascii_only), {0: "a = 'é'\nb = 'ü'"}).decode()
    assert after == json.dumps(json.loads(notebook("a = 'é'\nb = 'ü'")), indent=1)
    colab = notebook("a = '<b>'\nb = 1").replace("<", "\\u003c")
    assert "a = '\\u003cb>'" in with_texts(read(colab), {0: "a = '<b>'\nb = 'é'"}).decode()


@pytest.mark.parametrize(
    ("text", "row", "column", "message"),
    [
        ("{", 1, 2, "a member in double quotes is missing"),
        ('{"cells": [\n {"source": "a"\n  x}]}', 3, 3, "a comma is missing"),
        ('{"cells": []} x', 1, 15, "more after the end"),
        ('{"cells": [],}', 1, 14, "a member in double quotes is missing"),
        ('{"a": tru}', 1, 7, "Expecting value"),
        ("[]", 1, 1, "the file holds no JSON object"),
        ('{"nbformat": 4}', 1, 1, "it has no list of cells"),
        ('{"cells": [\n3]}', 2, 1, "cell 1 has no text"),
        ('{"cells": [\n{"source": [1]}]}', 2, 12, "cell 1 has no text"),
        ("<<<<<<< HEAD\n{}", 1, 1, "Expecting value"),
        ("[" * 100_000, 1, 1, "nested too deeply"),
    ],
)
def test_a_file_that_is_not_a_notebook_is_reported_with_its_place(
    text: str, row: int, column: int, message: str
) -> None:
    with pytest.raises(Undecodable) as caught:
        read(text)
    assert (caught.value.row, caught.value.column) == (row, column)
    assert message in caught.value.message


@pytest.mark.parametrize("document", ['{"nbformat": 3, "worksheets": [{"cells": []}]}', '{"nbformat": 2, "cells": []}'])
def test_an_old_format_is_reported_with_the_remedy(document: str) -> None:
    with pytest.raises(Undecodable, match=r"a notebook of format \d: convert it with `jupyter nbconvert"):
        read(document)


@pytest.mark.parametrize("text", ["", "  \n", '{"cells": []}', '{"cells": [{"cell_type": "code"}]}'])
def test_an_empty_notebook_is_one(text: str) -> None:
    assert all(cell.text == "" for cell in read(text).cells)


@pytest.mark.parametrize(
    ("metadata", "is_python"),
    [
        ({}, True),
        ({"kernelspec": None}, True),
        ({"kernelspec": {"name": "conda-env-tf-py"}}, True),
        ({"kernelspec": {"name": "julia-1.10"}}, False),
        ({"kernelspec": {"name": "ir", "language": "R"}}, False),
        ({"kernelspec": {"name": "python3"}, "language_info": {"name": "bash"}}, False),
        ({"language_info": {"name": "ipython"}}, True),
    ],
)
def test_the_metadata_tell_the_language(metadata: dict[str, Any], is_python: bool) -> None:
    assert read(notebook("x", metadata=metadata)).is_python is is_python


def test_a_cell_can_be_in_another_language_than_its_notebook() -> None:
    document = json.loads(notebook("x", "y"))
    document["cells"][0]["metadata"] = {"vscode": {"languageId": "sql"}}
    document["cells"][1]["metadata"] = {"vscode": {"languageId": "python"}}
    assert [cell.is_code for cell in read(json.dumps(document)).cells] == [False, True]


def test_nbformat_reads_the_same() -> None:
    nbformat = pytest.importorskip("nbformat")
    for path in NOTEBOOKS:
        theirs = nbformat.read(path, as_version=4)
        ours = read_notebook(str(path), path.read_bytes())
        assert [cell.text for cell in ours.cells] == [cell.source for cell in theirs.cells]
        assert [cell.is_code for cell in ours.cells] == [cell.cell_type == "code" for cell in theirs.cells]
