"""State of lowering, for either parser: node numbers and the current scope."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from gpulint.sources.spelling import has_many_marks
from gpulint.syntax import ir


class Lowered(NamedTuple):
    """A lowered file, and the parser's node for each number (or the first and last of several)."""

    module: ir.Module
    origins: list[Any]


class Lowering:
    """State of lowering one file.

    `nodes[n]` is the parser's node (or the first and last of several) of the `ir` node with number n. `bound`,
    `declared` and `yields` describe the innermost function, lambda, class or module.
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
        """The interned identifier of `text`, NFKC-normalised as in Python, unless that takes quadratic time."""
        if not text.isascii() and not has_many_marks(text):
            text = unicodedata.normalize("NFKC", text)
        return self.words.setdefault(text, text)


def bind(low: Lowering, target: ir.Expr) -> None:
    """Record the names that an assignment to `target` binds."""
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
    """Enter the scope of a function or class in which `bound` is bound initially."""
    outer = low.bound, low.declared, low.yields
    low.bound, low.declared, low.yields = bound, set(), False
    yield
    low.bound, low.declared, low.yields = outer
