"""Jupyter notebooks as text: cells with their places in the file, and the file with changed cells.

nbformat returns no positions, does not keep the bytes and has ten dependencies: this module uses the standard library's
JSON decoder, which tells where each value ends.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from gpulint.sources.decoding import Undecodable

SUFFIX = ".ipynb"

PYTHON_2 = "python2"
"""The language of notebooks for Python 2."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its index among all cells of the notebook, from 0, and its text.

    `is_code` says whether it is code in the notebook's language. `start` and `end` delimit the JSON value of its
    `source` in the notebook's text.
    """

    index: int
    is_code: bool
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Notebook:
    """A notebook of format 4. `data` are its bytes, `text` is their text with any byte-order mark.

    `language` is that of its kernel in lower case, "python" if it names none.
    """

    path: str
    data: bytes
    text: str
    cells: tuple[Cell, ...]
    language: str

    @property
    def is_python(self) -> bool:
        return self.language.startswith(("python", "ipython"))

    def place(self, cell: int, row: int, column: int = 1) -> tuple[int, int]:
        """Row and column of the file, from 1, for a row and column of a cell."""
        if cell not in self._characters:
            self._characters[cell] = _characters(self.text, self.cells[cell])
        rows, places = self._characters[cell]
        at = places[min(rows[min(row, len(rows)) - 1] + column - 1, len(places) - 1)]
        row = bisect_right(self._rows, at)
        return row, at - self._rows[row - 1] + 1

    @cached_property
    def _rows(self) -> list[int]:
        """Start of each row of the file."""
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    @cached_property
    def _characters(self) -> dict[int, tuple[list[int], array[int]]]:
        """Cached results of `_characters`."""
        return {}


def read_notebook(path: str, data: bytes) -> Notebook:
    """Read a notebook. Raises Undecodable, with a place in the file, if it is not a notebook of format 4."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise Undecodable("the notebook is not valid UTF-8", row, 1) from None
    begin = 1 if text.startswith("\ufeff") else 0
    if not text[begin:].strip():
        return Notebook(path, data, text, (), "python")
    try:
        document, end = _value(text, _blank(text, begin), {"cells": _cells})
        if (end := _blank(text, end)) < len(text):
            raise json.JSONDecodeError("more after the end", text, end)
    except json.JSONDecodeError as error:
        raise Undecodable(f"not a notebook: {error.msg}", error.lineno, error.colno) from None
    except RecursionError:
        raise Undecodable("not a notebook: it is nested too deeply") from None
    except ValueError as error:
        raise Undecodable(f"not a notebook: {error}") from None
    if not isinstance(document, dict):
        raise Undecodable("not a notebook: the file holds no JSON object")
    version = document.get("nbformat", 4)
    if "worksheets" in document or not isinstance(version, int) or version < 4:
        raise Undecodable(
            f"a notebook of format {json.dumps(version)[:20]}: convert it with `jupyter nbconvert --to notebook`"
        )
    found = document.get("cells")
    if not isinstance(found, list):
        raise Undecodable("not a notebook: it has no list of cells")
    language = _language(document.get("metadata"))
    cells = tuple(_cell(text, index, one, language) for index, one in enumerate(found))
    return Notebook(path, data, text, cells, language)


def with_texts(notebook: Notebook, texts: Mapping[int, str]) -> bytes:
    """The bytes of a notebook with new texts for some cells, by index.

    Nothing else in the file changes, and in a changed cell only the strings of changed lines: indentation, order, line
    ends and escapes are kept. Unchanged texts give the same bytes.
    """
    parts: list[str] = []
    done = 0
    shared: _Layout | None = None
    escape = notebook.text.isascii() and _ESCAPED.search(notebook.text) is not None
    for index in sorted(texts):
        cell = notebook.cells[index]
        if texts[index] == cell.text:
            continue
        if cell.start == cell.end:
            raise ValueError(f"cell {index} has no source")
        shared = shared or _shared_layout(notebook)
        parts += [notebook.text[done : cell.start], _written(notebook.text, cell, texts[index], escape, shared)]
        done = cell.end
    return "".join([*parts, notebook.text[done:]]).encode("utf-8")


# ----------------------------------------------------------------------------- reading

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\n\r]*")
_LINE_END = re.compile(r"\r\n?|\n")
_CHARACTER = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|.", re.DOTALL)
"""One character inside a JSON string."""


class _Located(NamedTuple):
    """A JSON value and its place."""

    value: Any
    start: int
    end: int


_Reader = Callable[[str, int], tuple[Any, int]]


def _blank(text: str, at: int) -> int:
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]


def _plain(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except StopIteration:  # what raw_decode lets out of Python 3.10's scanner
        raise json.JSONDecodeError("a value is missing", text, at) from None


def _value(text: str, at: int, readers: Mapping[str, _Reader]) -> tuple[Any, int]:
    """The value at a place and its end; object members with their own reader are read by that."""
    if not text.startswith("{", at):
        return _plain(text, at)
    members: dict[str, Any] = {}
    at = _blank(text, at + 1)
    while not (text.startswith("}", at) and not members):
        if not text.startswith('"', at):
            raise json.JSONDecodeError("a member in double quotes is missing", text, at)
        key, at = _plain(text, at)
        at = _blank(text, at)
        if not text.startswith(":", at):
            raise json.JSONDecodeError("a colon is missing", text, at)
        members[key], at = readers.get(key, _plain)(text, _blank(text, at + 1))
        at = _blank(text, at)
        if text.startswith("}", at):
            break
        if not text.startswith(",", at):
            raise json.JSONDecodeError("a comma is missing", text, at)
        at = _blank(text, at + 1)
    return members, at + 1


def _array(text: str, at: int, reader: _Reader) -> tuple[list[_Located], int]:
    """The elements of the array at a place, and its end."""
    elements: list[_Located] = []
    at = _blank(text, at + 1)
    while not (text.startswith("]", at) and not elements):
        value, end = reader(text, at)
        elements.append(_Located(value, at, end))
        at = _blank(text, end)
        if text.startswith("]", at):
            break
        if not text.startswith(",", at):
            raise json.JSONDecodeError("a comma is missing", text, at)
        at = _blank(text, at + 1)
    return elements, at + 1


def _cells(text: str, at: int) -> tuple[Any, int]:
    return _array(text, at, _members_of_cell) if text.startswith("[", at) else _plain(text, at)


def _members_of_cell(text: str, at: int) -> tuple[Any, int]:
    return _value(text, at, {"source": _located})


def _located(text: str, at: int) -> tuple[_Located, int]:
    value, end = _plain(text, at)
    return _Located(value, at, end), end


def _cell(text: str, index: int, found: _Located, language: str) -> Cell:
    members = found.value
    source = members.get("source", _Located("", 0, 0)) if isinstance(members, dict) else None
    lines = [source.value] if source is not None and isinstance(source.value, str) else source and source.value
    if source is None or not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        at = source.start if source is not None else found.start
        row, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        raise Undecodable(f"not a notebook: cell {index + 1} has no text", row, column)
    is_code = members.get("cell_type") == "code" and _is_in(members.get("metadata"), language)
    return Cell(index, is_code, "".join(lines), source.start, source.end)


def _is_in(metadata: Any, language: str) -> bool:
    """Whether a cell is in the notebook's language: editors can set one for each cell."""
    editor = metadata.get("vscode") if isinstance(metadata, dict) else None
    own = editor.get("languageId") if isinstance(editor, dict) else None
    return not isinstance(own, str) or own.lower() == language or (own == "python" and "python" in language)


def _language(metadata: Any) -> str:
    """The language in a notebook's metadata: from the kernel that ran it last, else from the one to run it."""
    known = metadata if isinstance(metadata, dict) else {}
    info, kernel = (known[key] if isinstance(known.get(key), dict) else {} for key in ("language_info", "kernelspec"))
    if (str(info.get("version")).startswith("2.") and info.get("name") == "python") or kernel.get("name") == "python2":
        return PYTHON_2
    for named in (info.get("name"), kernel.get("language"), _OF_KERNELS.get(str(kernel.get("name")).partition("-")[0])):
        if isinstance(named, str) and named:
            return named.lower()
    return "python"


_OF_KERNELS = {
    **{"ir": "r", "julia": "julia", "bash": "bash", "javascript": "javascript", "deno": "typescript", "sos": "sos"},
    **{"xcpp11": "c++", "xcpp14": "c++", "xcpp17": "c++", "scala": "scala", "octave": "octave", "ruby": "ruby"},
    **{"rust": "rust", "kotlin": "kotlin", "matlab": "matlab", "gophernotes": "go"},
}
"""Languages by kernel name up to the first dash, for notebooks with no other metadata."""


# ----------------------------------------------------------------------------- writing


def _strings(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The places of the strings in a `source`, including quotes."""
    if text.startswith("[", start):
        return [(one.start, one.end) for one in _array(text, start, _plain)[0]]
    return [(start, end)] if end > start else []


def _characters(text: str, cell: Cell) -> tuple[list[int], array[int]]:
    """(start of each row, in characters of the cell; place of each character in the text of the file, and the end)."""
    places = array("Q")
    end = cell.start
    for start, behind in _strings(text, cell.start, cell.end):
        end = behind - 1
        if "\\" in text[start:end]:
            places.extend(match.start() for match in _CHARACTER.finditer(text, start + 1, end))
        else:
            places.extend(range(start + 1, end))
    places.append(end)
    return [0, *(match.end() for match in _LINE_END.finditer(cell.text))], places


def _written(text: str, cell: Cell, new: str, escape: bool, shared: _Layout) -> str:
    """The JSON value of a cell's source, with another text."""
    if not text.startswith("[", cell.start):
        return _string(new, escape)
    before = {json.loads(text[start:end]): text[start:end] for start, end in _strings(text, cell.start, cell.end)}
    lines = [before.get(line) or _string(line, escape) for line in re.findall(r"[^\n]*\n|[^\n]+", new)]
    own = _layout(text, cell)
    layout = own if own is not None and own.lines >= shared.lines else shared
    return f"[{layout.opening}{layout.between.join(lines)}{layout.closing}]" if lines else "[]"


_ESCAPED = re.compile(r"\\u(?!00[0-7])")
"""An escape of a character that is not ASCII."""


def _string(text: str, escape: bool) -> str:
    has_surrogate = any("\ud800" <= character <= "\udfff" for character in text)
    return json.dumps(text, ensure_ascii=escape or has_surrogate)


class _Layout(NamedTuple):
    """Separators before, between and after the lines of a cell, read from `lines` of its lines: 2 determine all."""

    opening: str = ""
    between: str = ", "
    closing: str = ""
    lines: int = 0


def _layout(text: str, cell: Cell) -> _Layout | None:
    """The layout of a cell, None if it has no list of lines, or an empty one."""
    strings = _strings(text, cell.start, cell.end) if text.startswith("[", cell.start) else []
    if not strings:
        return None
    (first, _), (_, last) = strings[0], strings[-1]
    opening, closing = text[cell.start + 1 : first], text[last : cell.end - 1]
    between = text[strings[0][1] : strings[1][0]] if len(strings) > 1 else f",{opening or ' '}"
    return _Layout(opening, between, closing, min(len(strings), 2))


def _shared_layout(notebook: Notebook) -> _Layout:
    """The layout of the first cell with the most lines, up to 2."""
    found = _Layout()
    for cell in notebook.cells:
        layout = _layout(notebook.text, cell)
        if layout is not None and layout.lines > found.lines:
            found = layout
        if found.lines == 2:
            break
    return found
