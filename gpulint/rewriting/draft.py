"""The text and syntax tree of one file, as fixes need them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, TypeVar

from gpulint.places import Site, Span
from gpulint.rewriting.fix import Edit, Refused
from gpulint.syntax import ir, walk
from gpulint.syntax.enclosing import Enclosing

if TYPE_CHECKING:
    from gpulint.syntax.spans import Layout

N = TypeVar("N", bound=ir.Node)
A = TypeVar("A", bound=Hashable)
T = TypeVar("T")

MAX_WRITTEN = 10_000_000
"""Maximum size of all edits of a program, in characters; further fixes are refused."""

EDIT_SIZE = 100
"""Size of an edit without its content, about that of its JSON."""


class Place(NamedTuple):
    """The block that contains a statement, and the statement's index in it."""

    block: ir.Block
    number: int


class Draft:
    """The text and syntax tree of one file. Places in the text are offsets; line ends are line feeds.

    `parts` are the first rows of the cells or fenced blocks that make up the program, if there are any: no statement
    spans two. All fixes of a program share one draft, which computes each fact about it once.
    """

    def __init__(self, path: str, layout: Layout, parts: Sequence[int] = ()) -> None:
        self.path = path
        self._parts = parts
        self.text = layout.text
        self.module = layout.module
        self._layout = layout
        self._line_starts = [0, *(index + 1 for index, letter in enumerate(layout.text) if letter == "\n")]
        self._written = 0
        self._known: dict[Any, Any] = {}
        self._nodes: dict[int, ir.Node] = {}
        self._parents: dict[int, ir.Node] = {}
        for parent, node in _walk(layout.module):
            self._nodes[node.number] = node
            if parent is not None:
                self._parents[node.number] = parent

    def once(self, work: Callable[[Draft, A], T], about: A) -> T:
        """The result of `work(draft, about)`, computed on the first call. Raises Refused if `work` did."""
        key = (work, about)
        if key not in self._known:
            try:
                self._known[key] = work(self, about)
            except Refused as refused:
                self._known[key] = Refused(*refused.args)  # a copy: the traceback would keep frames alive
        known: T | Refused = self._known[key]
        if isinstance(known, Refused):
            raise Refused(*known.args)
        return known

    # --------------------------------------------------------------------------- nodes

    def node(self, site: Site) -> ir.Node:
        """The node at a site. Raises Refused if it is in another file."""
        if site.path != self.path:
            raise Refused("it depends on code in another file")
        return self._nodes[site.node]

    def typed(self, site: Site, kind: type[N]) -> N:
        """The node at a site, which must be of that kind. Raises Refused."""
        node = self.node(site)
        if not isinstance(node, kind):
            raise Refused(f"there is no {kind.__name__.lower()} at this place")
        return node

    def loop(self, site: Site) -> ir.For | ir.While:
        """The loop at a site. Raises Refused."""
        node = self.node(site)
        if not isinstance(node, ir.For | ir.While):
            raise Refused("it is not a loop")
        return node

    def parent(self, node: ir.Node) -> ir.Node | None:
        """The parent of a node; None for a statement of the module."""
        return self._parents.get(node.number)

    def statement(self, node: ir.Node) -> ir.Statement:
        """The innermost statement around a node, which can be the node itself."""
        around: ir.Node | None = node
        while around is not None and not isinstance(around, ir.Statement):
            around = self.parent(around)
        if around is None:
            raise Refused("it is not in a statement")
        return around

    def function(self, node: ir.Node) -> ir.FunctionDef | ir.ClassDef | None:
        """The innermost function or class around a node."""
        around = self._enclosing.of(node.number)
        return next((one for one in reversed(around) if one is not node), None)

    def block(self, statement: ir.Statement) -> ir.Block:
        """The block that contains a statement. Raises Refused for an `elif`."""
        if self.text.startswith("elif", self.start(statement)) and isinstance(statement, ir.If):
            raise Refused("it is an `elif`")
        return self.place(statement).block

    def place(self, statement: ir.Statement) -> Place:
        """The place of a statement. An `elif` is the only statement of its block."""
        return self._places[statement.number]

    def part(self, node: ir.Node) -> int:
        """Index of the part that contains a node."""
        return bisect_right(self._parts, self.row(self.start(node)))

    # --------------------------------------------------------------------------- places

    def extent(self, node: ir.Node) -> tuple[int, int]:
        """Start and end of a node."""
        return self._layout.extents[node.number]

    def start(self, node: ir.Node) -> int:
        return self.extent(node)[0]

    def end(self, node: ir.Node) -> int:
        return self.extent(node)[1]

    def source(self, node: ir.Node) -> str:
        """The text of a node."""
        start, end = self.extent(node)
        return self.text[start:end]

    def row(self, offset: int) -> int:
        """The row of an offset, from 1."""
        return bisect_right(self._line_starts, offset)

    def row_start(self, offset: int) -> int:
        """Start of the row of an offset."""
        return self._line_starts[self.row(offset) - 1]

    def row_end(self, offset: int) -> int:
        """End of the row of an offset, after its line feed."""
        row = self.row(offset)
        return self._line_starts[row] if row < len(self._line_starts) else len(self.text)

    def indent(self, offset: int) -> str:
        """The indentation of the row of an offset."""
        blanks = _BLANKS.match(self.text, self.row_start(offset))
        return blanks.group() if blanks is not None else ""

    def quoted(self, text: str) -> str:
        """A string literal in the quotes that the file uses more often."""
        return f"{self._quote}{text}{self._quote}"

    def comments(self, start: int, end: int) -> list[tuple[int, int]]:
        """The comments that begin in a range of text."""
        found = self._layout.comments
        return found[bisect_left(found, (start, 0)) : bisect_left(found, (end, 0))]

    def is_in_string(self, row_start: int) -> bool:
        """Whether a row begins inside a string literal."""
        return row_start - 1 in self._layout.within_strings

    # ---------------------------------------------------------------------------- edits

    def replace(self, start: int, end: int, content: str) -> Edit:
        """Replace a range of text. Raises Refused if a comment would be lost, and once `MAX_WRITTEN` is exceeded."""
        self._written += EDIT_SIZE + len(content)
        if self._written > MAX_WRITTEN:
            raise Refused("the file needs too many edits")
        lost = [self.text[first:last] for first, last in self.comments(start, end)]
        if any(comment not in content for comment in lost):
            raise Refused("a comment would be lost")
        return Edit(Span(self.path, *self._position(start), *self._position(end)), content)

    def insert(self, offset: int, content: str) -> Edit:
        """Insert text at an offset."""
        return self.replace(offset, offset, content)

    def delete(self, start: int, end: int) -> Edit:
        """Delete a range of text. Raises Refused if a comment would be lost."""
        return self.replace(start, end, "")

    def rewrite(self, node: ir.Node, content: str) -> Edit:
        """Replace a node."""
        return self.replace(*self.extent(node), content)

    @cached_property
    def _enclosing(self) -> Enclosing:
        return Enclosing(self.module)

    @cached_property
    def _places(self) -> dict[int, Place]:
        owners = [self.module, *self._nodes.values()]
        found = (block for owner in owners for block in blocks(owner))
        return {one.number: Place(block, number) for block in found for number, one in enumerate(block)}

    @cached_property
    def _quote(self) -> str:
        return "'" if self.text.count("'") > self.text.count('"') else '"'

    def _position(self, offset: int) -> tuple[int, int]:
        row = self.row(offset)
        return row, offset - self._line_starts[row - 1] + 1


_BLANKS = re.compile(r"[ \t]*")


def is_always(node: ir.Node | None) -> TypeGuard[ir.If]:
    """Whether a node is `if 1:` without an `else`, the header that indented cells and blocks get."""
    return isinstance(node, ir.If) and not node.orelse and isinstance(node.test, ir.Constant) and bool(node.test.value)


def blocks(owner: Any) -> Iterator[ir.Block]:
    """The blocks of statements of a module or compound statement."""
    for name in ("body", "orelse", "finalbody"):
        if (block := getattr(owner, name, None)) and isinstance(block, tuple):
            yield block


def _walk(module: ir.Module) -> Iterator[tuple[ir.Node | None, ir.Node]]:
    """(parent, node) for each node of a module."""
    pending: list[tuple[ir.Node | None, ir.Node]] = [(None, statement) for statement in module.body]
    while pending:
        parent, node = pending.pop()
        yield parent, node
        pending.extend((node, child) for child in walk.children(node))
