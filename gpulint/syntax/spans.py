"""Positions of nodes, computed only for reported files and nodes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import accumulate
from typing import Any, Literal, NamedTuple, TypeAlias

import libcst as cst
from libcst._nodes.internal import CodegenState

from gpulint.places import Span
from gpulint.sources.source import Source
from gpulint.syntax import ir
from gpulint.syntax.ast_spans import rough_spans
from gpulint.syntax.cst_lowering import Origin
from gpulint.syntax.lower import lower
from gpulint.syntax.parse import CannotParse, by_python, unix_text, with_tree


def spans(source: Source, numbers: Collection[int]) -> dict[int, Span]:
    """The extent of each numbered node of the file, without surrounding blanks and parentheses.

    The extent of a compound statement, handler or case is its header up to the colon, or the first row of a longer
    header. A method call whose name is on a later row than the start of its chain starts at the name. Unknown numbers
    are left out. Raises CannotParse.
    """
    text = unix_text(source)
    try:
        return with_tree(source, lambda tree: _locate(tree, text, source.path, numbers))
    except CannotParse:
        read = by_python(text, source.path)
        if read is None:
            raise
        return rough_spans(text, source.path, read.origins, numbers)


def _locate(tree: cst.Module, text: str, path: str, numbers: Collection[int]) -> dict[int, Span]:
    origins = lower(tree, path).origins
    wanted = {number: _ends(origins[number]) for number in set(numbers) if 0 <= number < len(origins)}
    if not wanted:
        return {}
    marks: dict[int, dict[_Edge, int]] = {}
    for ends in wanted.values():
        for edge in (ends.first, ends.last, *((ends.name,) if ends.name else ())):
            marks[id(edge.node)] = {}
    state = _Recorder(tree, marks)
    tree._codegen(state)
    offsets = _offsets(state.tokens, text)
    line_starts = [0, *(index + 1 for index, character in enumerate(text) if character == "\n")]
    result = {}
    for number, ends in wanted.items():
        start, end = _without_blanks(text, _place(offsets, marks, ends.first), _place(offsets, marks, ends.last))
        if ends.header:
            end = _end_of_first_row(text, start, end)
        if ends.name is not None:
            name = _place(offsets, marks, ends.name)
            if text.find("\n", start, name) >= 0:
                start = name
        row, column = _position(line_starts, start)
        end_row, end_column = _position(line_starts, end)
        result[number] = Span(path, row, column, end_row, end_column)
    return result


class Layout(NamedTuple):
    """Offsets of everything in `text`, the file with line feeds as line ends.

    `extents` has (start, end) for each node number: whole statements, expressions without surrounding blanks and
    parentheses, definitions without decorators. `within_strings` are the line feeds inside string literals.
    """

    text: str
    module: ir.Module
    extents: list[tuple[int, int]]
    comments: list[tuple[int, int]]
    within_strings: frozenset[int]


def layout(source: Source) -> Layout | None:
    """The layout of a file, None if LibCST cannot reproduce it exactly. Raises CannotParse."""
    text = unix_text(source)
    return with_tree(source, lambda tree: _lay_out(tree, text, source.path))


def _lay_out(tree: cst.Module, text: str, path: str) -> Layout | None:
    module, origins = lower(tree, path)
    ends = [origin if isinstance(origin, tuple) else (origin, origin) for origin in origins]
    marks: dict[int, dict[_Edge, int]] = {id(node): {} for pair in ends for node in pair}
    state = _TextRecorder(tree, marks)
    tree._codegen(state)
    if "".join(state.tokens) != text:
        return None
    offsets = [0, *accumulate(map(len, state.tokens))]
    extents = [
        _without_blanks(text, _place(offsets, marks, _End(first, "start")), _place(offsets, marks, _End(last, "end")))
        for first, last in ends
    ]
    placed = list(zip(offsets, state.tokens, strict=False))
    in_text = state.texts
    comments = [
        (start, start + len(token))
        for number, (start, token) in enumerate(placed)
        if token.startswith("#") and number not in in_text
    ]
    within = frozenset(
        start + index
        for number, (start, token) in enumerate(placed)
        if "\n" in token and (token.strip(_BLANKS) or number in in_text)
        for index, character in enumerate(token)
        if character == "\n"
    )
    return Layout(text, module, extents, comments, within)


_BLANKS = " \t\f\\\n"
"""Characters of tokens between words: blanks, line ends, and backslashes of continued rows."""


# ------------------------------------------------------------------------------ which ends a node has

_Edge: TypeAlias = Literal["before", "start", "end", "after"]
"""A node's own text runs from start to end; before and after include the blanks that LibCST gives it."""


class _End(NamedTuple):
    node: cst.CSTNode
    edge: _Edge


class _Ends(NamedTuple):
    first: _End
    last: _End
    header: bool = False
    name: _End | None = None
    """The name of a method that is called."""


def _ends(origin: Origin) -> _Ends:
    if isinstance(origin, tuple):
        return _Ends(_End(origin[0], "start"), _End(origin[1], "end"))
    if isinstance(origin, cst.Match):
        return _Ends(_End(origin, "start"), _End(origin.whitespace_after_colon, "before"), header=True)
    if isinstance(origin, _WITH_BODY):
        return _Ends(_End(origin, "start"), _End(origin.body, "before"), header=True)
    if isinstance(origin, cst.CompFor):
        last = origin.ifs[-1] if origin.ifs else origin.iter
        return _Ends(_End(origin.whitespace_before, "after"), _End(last, "after"))
    if isinstance(origin, cst.Param):
        value = origin.default or (origin.annotation and origin.annotation.annotation)
        return _Ends(_End(origin, "start"), _End(value, "after") if value else _End(origin, "end"))
    if isinstance(origin, cst.Call) and isinstance(origin.func, cst.Attribute):
        return _Ends(_End(origin, "start"), _End(origin, "end"), name=_End(origin.func.attr, "start"))
    return _Ends(_End(origin, "start"), _End(origin, "end"))


_WITH_BODY = (
    cst.If,
    cst.For,
    cst.While,
    cst.With,
    cst.Try,
    cst.TryStar,
    cst.ExceptHandler,
    cst.ExceptStarHandler,
    cst.MatchCase,
    cst.FunctionDef,
    cst.ClassDef,
)


# ------------------------------------------------------------------------------ one pass over the tree


class _Recorder(CodegenState):
    """Generates the code and notes the first and last tokens of marked nodes.

    LibCST's PositionProvider does this for every node, and takes five times as long.
    """

    def __init__(self, tree: cst.Module, marks: dict[int, dict[_Edge, int]]) -> None:
        super().__init__(default_indent=tree.default_indent, default_newline=tree.default_newline)
        self.marks = marks

    def before_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.marks:
            self.marks[id(node)]["before"] = len(self.tokens)

    def after_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.marks:
            self.marks[id(node)]["after"] = len(self.tokens)

    def record_syntactic_position(
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> Any:
        return self._record(node) if id(node) in self.marks else _NOTHING

    @contextmanager
    def _record(self, node: cst.CSTNode) -> Iterator[None]:
        self.marks[id(node)]["start"] = len(self.tokens)
        yield
        self.marks[id(node)]["end"] = len(self.tokens)


class _TextRecorder(_Recorder):
    """Also notes the text tokens of f-strings, which can look like blanks or comments."""

    def __init__(self, tree: cst.Module, marks: dict[int, dict[_Edge, int]]) -> None:
        super().__init__(tree, marks)
        self.texts: set[int] = set()

    def before_codegen(self, node: cst.CSTNode) -> None:
        super().before_codegen(node)
        if isinstance(node, _TEXTS):
            self.texts.add(len(self.tokens))


_TEXTS = (cst.FormattedStringText, cst.TemplatedStringText)

_NOTHING = nullcontext()


def _place(offsets: Sequence[int], marks: dict[int, dict[_Edge, int]], end: _End) -> int:
    """The offset of an edge. LibCST drops the last token of a file without a final line end."""
    return offsets[min(_mark(marks, end), len(offsets) - 1)]


def _mark(marks: dict[int, dict[_Edge, int]], end: _End) -> int:
    known = marks[id(end.node)]
    if end.edge == "start":
        return known.get("start", known["before"])
    if end.edge == "end":
        return known.get("end", known["after"])
    return known[end.edge]


# ------------------------------------------------------------------------------ tokens to positions


def _offsets(tokens: Sequence[str], text: str) -> list[int]:
    """Start of each token in the text, and end of the last."""
    if "".join(tokens) == text:
        return [0, *accumulate(map(len, tokens))]
    # LibCST drops form feeds and continued blank lines before a statement: search for each token.
    offsets = []
    position = 0
    for token in tokens:
        visible = token.lstrip()
        if visible:
            found = text.find(visible, position)
            position = found if found >= 0 else position
            offsets.append(position)
            position += len(visible)
        else:
            offsets.append(position)
    offsets.append(position)
    return offsets


def _without_blanks(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _end_of_first_row(text: str, start: int, end: int) -> int:
    line_end = text.find("\n", start, end)
    return end if line_end < 0 else start + len(text[start:line_end].rstrip())


def _position(line_starts: Sequence[int], offset: int) -> tuple[int, int]:
    row = bisect_right(line_starts, offset)
    return row, offset - line_starts[row - 1] + 1
