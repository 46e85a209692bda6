"""What all of lowering shares, whichever parser made the tree: the numbers given so far, the scope at hand."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from gpulint.syntax import ir


class Lowered(NamedTuple):
    """A lowered file, and the parser's node of each number, or the first and last of several."""

    module: ir.Module
    origins: list[Any]


class Lowering:
    """What is known while one file is lowered.

    `nodes[n]` is the parser's node (or the first and last of several) that the `ir` node with number n was made of.
    `bound`, `declared` and `yields` describe the innermost function, lambda, class or module.
    """

    __slots__ = ("bound", "declared", "nodes", "words", "yields")

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.words: dict[str, str] = {}
        self.bound: set[str] = set()
        self.declared: set[str] = set()
        self.yields = False

    def number(self, node: Any) -> int:
        nodes = self.nodes
        nodes.append(node)
        return len(nodes) - 1

    def word(self, text: str) -> str:
        """The identifier that `text` spells: one object for each, NFKC-normalised as Python does."""
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text)
        return self.words.setdefault(text, text)


def bind(low: Lowering, target: ir.Expr) -> None:
    """Take note of the names that an assignment to `target` binds."""
    if type(target) is ir.Name:
        low.bound.add(target.id)
    elif type(target) is ir.Sequence_:
        for element in target.elements:
            bind(low, element)
    elif type(target) is ir.Starred:
        bind(low, target.value)


def docstring(body: Sequence[ir.Statement]) -> str | None:
    if body and isinstance(body[0], ir.ExpressionStatement):
        value = body[0].value
        if isinstance(value, ir.Constant) and isinstance(value.value, str):
            return value.value
    return None


@contextmanager
def scope(low: Lowering, bound: set[str]) -> Iterator[None]:
    """A function or class, of which so far `bound` is known to be bound."""
    outer = low.bound, low.declared, low.yields
    low.bound, low.declared, low.yields = bound, set(), False
    yield
    low.bound, low.declared, low.yields = outer
